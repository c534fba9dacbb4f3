package cohort.jdbc;

// What people use pgjdbc for, against the server whose URL is given. Ends with 1 if anything is not as it should be.

import java.io.StringReader;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.sql.Array;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Types;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Properties;
import java.util.UUID;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;
import org.postgresql.copy.CopyManager;

public class Smoke {
    static boolean failed = false;

    static void check(String what, Object found, Object wanted) {
        if (!Objects.deepEquals(found, wanted)) {
            failed = true;
            System.out.println(what + ": " + found + " instead of " + wanted);
        }
    }

    interface Work {
        void run() throws Exception;
    }

    static void fails(String what, String state, Work work) throws Exception {
        try {
            work.run();
            check(what, "no error", state);
        } catch (SQLException error) {
            check(what, error.getSQLState(), state);
        }
    }

    /// A query's first value.
    static Object one(Connection connection, String text) throws Exception {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(text)) {
            rows.next();
            return rows.getObject(1);
        }
    }

    static Connection connect(String url, String... settings) throws Exception {
        Properties properties = new Properties();
        properties.setProperty("user", "postgres");
        for (int at = 0; at < settings.length; at += 2) {
            properties.setProperty(settings[at], settings[at + 1]);
        }
        return DriverManager.getConnection(url, properties);
    }

    static void values(Connection connection) throws Exception {
        // From the fifth execution on the driver asks for a prepared statement of the server's and for binary values.
        try (PreparedStatement statement = connection.prepareStatement(
            "select ?::int4, ?::int8, ?::float8, ?::numeric, ?::text, ?::bool, ?::bytea, ?::date, ?::timestamp, ?::timestamptz, ?::uuid, ?::int4[]")) {
            for (int round = 0; round < 12; round++) {
                LocalDateTime time = LocalDateTime.of(2024, 1, 2, 3, 4, 5, 678000);
                UUID id = new UUID(0, round);
                statement.setInt(1, round);
                statement.setLong(2, 1L << 40);
                statement.setDouble(3, 1.25);
                statement.setBigDecimal(4, new BigDecimal("12.50"));
                statement.setString(5, "täxt");
                statement.setBoolean(6, true);
                statement.setBytes(7, new byte[] {0, -1});
                statement.setObject(8, time.toLocalDate());
                statement.setObject(9, time);
                statement.setObject(10, time.atOffset(ZoneOffset.UTC));
                statement.setObject(11, id);
                statement.setArray(12, connection.createArrayOf("int4", new Integer[] {1, null, round}));
                try (ResultSet rows = statement.executeQuery()) {
                    check("a row", rows.next(), true);
                    check("int4", rows.getInt(1), round);
                    check("int8", rows.getLong(2), 1L << 40);
                    check("float8", rows.getDouble(3), 1.25);
                    check("numeric", rows.getBigDecimal(4), new BigDecimal("12.50"));
                    check("text", rows.getString(5), "täxt");
                    check("bool", rows.getBoolean(6), true);
                    check("bytea", rows.getBytes(7), new byte[] {0, -1});
                    check("date", rows.getObject(8, LocalDate.class), time.toLocalDate());
                    check("timestamp", rows.getObject(9, LocalDateTime.class), time);
                    check("timestamptz", rows.getObject(10, OffsetDateTime.class).toInstant(), time.toInstant(ZoneOffset.UTC));
                    check("uuid", rows.getObject(11), id);
                    Array array = rows.getArray(12);
                    check("an array", Arrays.toString((Object[]) array.getArray()), "[1, null, " + round + "]");
                }
            }
        }
    }

    static void batchesAndKeys(Connection connection) throws Exception {
        try (Statement statement = connection.createStatement()) {
            statement.execute("create table jd_items (id serial primary key, name text unique, price numeric(10, 2))");
        }
        try (PreparedStatement insert = connection.prepareStatement("insert into jd_items (name, price) values (?, ?)")) {
            for (int number = 0; number < 100; number++) {
                insert.setString(1, "item " + number);
                insert.setBigDecimal(2, BigDecimal.valueOf(number));
                insert.addBatch();
            }
            check("a batch", Arrays.stream(insert.executeBatch()).sum(), 100);
        }
        try (PreparedStatement insert =
            connection.prepareStatement("insert into jd_items (name) values (?)", Statement.RETURN_GENERATED_KEYS)) {
            insert.setString(1, "with key");
            insert.executeUpdate();
            try (ResultSet keys = insert.getGeneratedKeys()) {
                keys.next();
                check("a generated key", keys.getInt("id"), 101);
            }
        }
        fails("a unique violation", "23505", () -> one(connection, "insert into jd_items (name) values ('item 1') returning id"));
    }

    static void copies(Connection connection) throws Exception {
        CopyManager manager = connection.unwrap(PGConnection.class).getCopyAPI();
        check("COPY in", manager.copyIn("copy jd_items (name) from stdin csv", new StringReader("\"a, b\"\nc\n")), 2L);
        StringWriter out = new StringWriter();
        manager.copyOut("copy (select name from jd_items order by id desc limit 2) to stdout csv", out);
        check("COPY out", out.toString(), "c\n\"a, b\"\n");
        fails("COPY of what is no number", "22P02",
            () -> manager.copyIn("copy jd_items (price) from stdin", new StringReader("1\nx\n")));
    }

    static void transactions(Connection connection) throws Exception {
        connection.setAutoCommit(false);
        connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
        try (Statement statement = connection.createStatement()) {
            statement.setFetchSize(7);
            int count = 0;
            try (ResultSet rows = statement.executeQuery("select * from jd_items")) {
                while (rows.next()) {
                    count++;
                }
            }
            check("rows fetched by sevens", count, 103);
            Savepoint savepoint = connection.setSavepoint();
            statement.executeUpdate("delete from jd_items");
            connection.rollback(savepoint);
            check("deleted", statement.executeUpdate("delete from jd_items where id > 100"), 3);
        }
        connection.commit();
        fails("a failed transaction", "25P02", () -> {
            fails("a division by zero", "22012", () -> one(connection, "select 1 / 0"));
            one(connection, "select 1");
        });
        connection.rollback();
        connection.setAutoCommit(true);
        check("after it", one(connection, "select count(*) from jd_items"), 100L);
    }

    static void metaData(Connection connection) throws Exception {
        try (Statement statement = connection.createStatement()) {
            statement.execute("create table jd_lines (item int references jd_items on delete cascade, n int not null default 1, "
                + "primary key (item, n)); create view jd_view as select * from jd_lines; "
                + "create function jd_twice(x int) returns int language sql as 'select x * 2'");
        }
        DatabaseMetaData data = connection.getMetaData();
        check("product", data.getDatabaseProductName(), "PostgreSQL");
        check("tables", column(data.getTables(null, "public", "jd\\_%", new String[] {"TABLE", "VIEW"}), "TABLE_NAME"),
            List.of("jd_items", "jd_lines", "jd_view"));
        check("columns", column(data.getColumns(null, "public", "jd_items", "%"), "TYPE_NAME"), List.of("serial", "text", "numeric"));
        check("primary key", column(data.getPrimaryKeys(null, "public", "jd_lines"), "COLUMN_NAME"), List.of("item", "n"));
        check("imported keys", column(data.getImportedKeys(null, "public", "jd_lines"), "PKTABLE_NAME"), List.of("jd_items"));
        check("exported keys", column(data.getExportedKeys(null, "public", "jd_items"), "FKCOLUMN_NAME"), List.of("item"));
        check("indexes", column(data.getIndexInfo(null, "public", "jd_items", true, false), "INDEX_NAME"),
            List.of("jd_items_name_key", "jd_items_pkey"));
        check("functions", column(data.getFunctions(null, "public", "jd_%"), "FUNCTION_NAME"), List.of("jd_twice"));
        check("schemas", column(data.getSchemas(), "TABLE_SCHEM").contains("public"), true);
        check("types", column(data.getTypeInfo(), "TYPE_NAME").containsAll(List.of("int4", "text", "jsonb")), true);
        try (CallableStatement call = connection.prepareCall("{? = call jd_twice(?)}")) {
            call.registerOutParameter(1, Types.INTEGER);
            call.setInt(2, 21);
            call.execute();
            check("a called function", call.getInt(1), 42);
        }
    }

    static List<String> column(ResultSet rows, String name) throws Exception {
        List<String> found = new ArrayList<>();
        try (rows) {
            while (rows.next()) {
                found.add(rows.getString(name));
            }
        }
        return found;
    }

    static void cancelAndNotify(String url, Connection connection) throws Exception {
        try (Statement statement = connection.createStatement()) {
            statement.setQueryTimeout(1);
            fails("a query's time limit", "57014", () -> statement.execute("select pg_sleep(50)"));
            statement.execute("listen jd_news");
        }
        try (Connection other = connect(url)) {
            one(other, "select pg_notify('jd_news', 'hello')");
        }
        PGNotification[] heard = connection.unwrap(PGConnection.class).getNotifications(20000);
        check("a notification", heard.length == 1 ? heard[0].getParameter() : heard.length, "hello");
    }

    public static void main(String[] arguments) throws Exception {
        String url = arguments[0];
        try (Connection connection = connect(url, "prepareThreshold", "3")) {
            values(connection);
            batchesAndKeys(connection);
            copies(connection);
            transactions(connection);
            metaData(connection);
            cancelAndNotify(url, connection);
        }
        try (Connection simple = connect(url, "preferQueryMode", "simple")) {
            check("the simple protocol", one(simple, "select count(*) from jd_items"), 100L);
        }
        System.exit(failed ? 1 : 0);
    }
}
