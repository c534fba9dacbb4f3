#!/usr/bin/env python3
"""Records what a PostgreSQL 15 server answers to Parse and Describe of the statements in the *.sql files beside this.

  record.py SOCKET_DIR PORT     writes NAME.recorded for every NAME.sql

The server needs the tables of schema.sql in its schema public. Answers are what the tests compare ours with.
"""
import glob, os, socket, struct, sys

HERE = os.path.dirname(os.path.abspath(__file__))


class Connection:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        body = struct.pack("!i", 196608) + b"user\0postgres\0database\0postgres\0\0"
        self.socket.sendall(struct.pack("!i", len(body) + 4) + body)
        self.until_ready()

    def exactly(self, count):
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise SystemExit("the server hung up")
            data += part
        return data

    def until_ready(self):
        messages = []
        while True:
            kind = self.exactly(1)
            (length,) = struct.unpack("!i", self.exactly(4))
            messages.append((kind, self.exactly(length - 4)))
            if kind == b"Z":
                return messages

    def send(self, *messages):
        for kind, body in messages:
            self.socket.sendall(kind + struct.pack("!i", len(body) + 4) + body)
        return self.until_ready()

    def query(self, text):
        rows = []
        for kind, body in self.send((b"Q", text.encode() + b"\0")):
            if kind == b"D":
                at, row = 2, []
                for _ in range(struct.unpack("!h", body[:2])[0]):
                    (length,) = struct.unpack("!i", body[at : at + 4])
                    row.append(body[at + 4 : at + 4 + length].decode())
                    at += 4 + max(length, 0)
                rows.append(row)
            if kind == b"E":
                raise SystemExit(f"{text}: {body}")
        return rows


def fields(body):
    parts = body.split(b"\0")
    return {part[:1].decode(): part[1:].decode() for part in parts if part}


def describe(connection, names, text):
    answer = connection.send((b"P", b"\0" + text.encode() + b"\0\0\0"), (b"D", b"S\0"), (b"S", b""))
    parameters, columns = [], []
    for kind, body in answer:
        if kind == b"E":
            error = fields(body)
            lines = [f"error {error['C']} {error.get('P', 0)} {error['M']}"]
            lines += [f"{word} {error[key]}" for word, key in (("detail", "D"), ("hint", "H")) if key in error]
            return lines
        if kind == b"t":
            count = struct.unpack("!h", body[:2])[0]
            parameters = [names[oid] for oid in struct.unpack(f"!{count}I", body[2:])]
        if kind == b"T":
            at = 2
            for _ in range(struct.unpack("!h", body[:2])[0]):
                end = body.index(b"\0", at)
                oid = struct.unpack("!I", body[end + 7 : end + 11])[0]
                columns.append(f"{body[at:end].decode()} {names[oid]}")
                at = end + 19
    return [f"ok ({', '.join(parameters)}) -> ({', '.join(columns)})"]


def main():
    connection = Connection(f"{sys.argv[1]}/.s.PGSQL.{sys.argv[2]}")
    names = {int(oid): name for oid, name in connection.query("select oid, format_type(oid, null) from pg_type")}
    for path in sorted(glob.glob(f"{HERE}/*.sql")):
        if path.endswith("schema.sql"):
            continue
        with open(path) as source, open(path[:-4] + ".recorded", "w") as out:
            for line in source:
                statement = line.rstrip("\n")
                if not statement or statement.startswith("--"):
                    continue
                out.write(f"> {statement}\n" + "\n".join(describe(connection, names, statement)) + "\n")


main()
