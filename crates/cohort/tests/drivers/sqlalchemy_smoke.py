"""Tables made, used and read back by SQLAlchemy, on the server whose URL is given. Ends with 1 if anything is not as it should be."""

import sys

from sqlalchemy import JSON, CheckConstraint, Enum, ForeignKey, MetaData, Numeric, String, create_engine, func, insert, inspect, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship, selectinload

failed = []
engine = create_engine(sys.argv[1].replace("postgresql:", "postgresql+psycopg:"))


def check(found, wanted, what):
    if found != wanted:
        failed.append(what)
        print(f"{what}: {found!r} instead of {wanted!r}")


class Base(DeclarativeBase):
    pass


class User(Base):
    __tablename__ = "sa_users"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(30), unique=True)
    data = mapped_column(JSON)
    kind = mapped_column(Enum("a", "b", name="sa_kind"))
    addresses: Mapped[list["Address"]] = relationship(back_populates="user", cascade="all, delete-orphan")


class Address(Base):
    __tablename__ = "sa_addresses"
    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str] = mapped_column(index=True)
    user_id = mapped_column(ForeignKey("sa_users.id", ondelete="CASCADE"))
    price = mapped_column(Numeric(10, 2), CheckConstraint("price > 0", name="price_positive"))
    user: Mapped[User] = relationship(back_populates="addresses")


Base.metadata.create_all(engine)
with Session(engine) as session:
    session.add(User(name="x", data={"k": [1]}, kind="a", addresses=[Address(email="e", price=1), Address(email="f", price=2)]))
    session.commit()
    user = session.scalars(select(User).options(selectinload(User.addresses)).where(User.name == "x")).one()
    check((len(user.addresses), user.data, user.kind), (2, {"k": [1]}, "a"), "what was stored")
    user.addresses.pop()
    session.commit()
    check(session.scalar(select(func.count()).select_from(Address)), 1, "a row that is gone with its parent")
with engine.begin() as connection:
    change = upsert(User).values(name="x", kind="b").on_conflict_do_update(index_elements=["name"], set_={"kind": "b"})
    connection.execute(change)
    check(connection.scalar(select(User.kind).where(User.name == "x")), "b", "ON CONFLICT")
    ids = connection.execute(insert(Address).returning(Address.id), [{"email": "y"}, {"email": "z"}]).all()
    check(len(ids), 2, "RETURNING of several rows")
    with connection.begin_nested():
        ranks = connection.execute(select(func.row_number().over(order_by=Address.id))).all()
    check([rank for (rank,) in ranks], [1, 2, 3], "a window")
serializable = engine.execution_options(isolation_level="SERIALIZABLE").connect()
check(serializable.get_isolation_level(), "SERIALIZABLE", "the isolation level")
serializable.close()

inspector = inspect(engine)
check(sorted(inspector.get_table_names()), ["sa_addresses", "sa_users"], "tables")
columns = {column["name"]: str(column["type"]) for column in inspector.get_columns("sa_addresses")}
check(columns, {"id": "INTEGER", "email": "VARCHAR", "user_id": "INTEGER", "price": "NUMERIC(10, 2)"}, "columns")
check(inspector.get_pk_constraint("sa_users")["constrained_columns"], ["id"], "the primary key")
[foreign] = inspector.get_foreign_keys("sa_addresses")
check((foreign["referred_table"], foreign["options"]), ("sa_users", {"ondelete": "CASCADE"}), "the foreign key")
check([index["name"] for index in inspector.get_indexes("sa_addresses")], ["ix_sa_addresses_email"], "indexes")
check([unique["column_names"] for unique in inspector.get_unique_constraints("sa_users")], [["name"]], "unique constraints")
check([found["name"] for found in inspector.get_check_constraints("sa_addresses")], ["price_positive"], "checks")
check([(enum["name"], enum["labels"]) for enum in inspector.get_enums()], [("sa_kind", ["a", "b"])], "enums")
reflected = MetaData()
reflected.reflect(engine)
check(sorted(reflected.tables), ["sa_addresses", "sa_users"], "reflected tables")
Base.metadata.drop_all(engine)
check(inspect(engine).get_table_names(), [], "tables after they were dropped")
sys.exit(1 if failed else 0)
