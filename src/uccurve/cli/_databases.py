"""Databases: a table of a DuckDB file or of PostgreSQL, as rows at hand."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import polars as pl

from uccurve._files import shown_path
from uccurve._refusals import nearest
from uccurve.words.formats import listed, short

DATABASE = "::"  # between a database and the table in it
ADDRESSES = ("postgresql://", "postgres://")
ENDINGS = (".duckdb", ".ddb", ".db")
MAGIC = b"DUCK"  # from the ninth byte on
TABLES = (
    "SELECT table_schema, table_name FROM information_schema.tables "
    "WHERE table_schema NOT IN ('pg_catalog', 'information_schema')"
)


def is_address(path: str) -> bool:
    """Whether a path names a table of a database.

    >>> is_address("dw.duckdb::sales"), is_address("postgresql://db/dw::sales"), is_address("a.csv")
    (True, True, False)
    """
    database, separator, _ = path.rpartition(DATABASE)
    if path.startswith(ADDRESSES):
        return True
    return bool(separator) and (database.endswith(ENDINGS) or Path(database).is_file())


def is_database(start: bytes) -> bool:
    """Whether a file that begins like this is a DuckDB database."""
    return start[8:12] == MAGIC


def table_of(path: str) -> tuple[str, str, pl.DataFrame]:
    """Return the label, the name and the rows of a table, written DATABASE::TABLE."""
    database, separator, table = path.rpartition(DATABASE)
    if not separator:
        database, table = path, ""
    label = f"{_shown(database)}{DATABASE}{table}"
    connection = _connected(database)
    try:
        names = _tables(connection)
        wanted = [name for name in names if table in (name, name.partition(".")[2])]
        if len(wanted) != 1:
            raise ValueError(_which_table(_shown(database), database, table, names))
        cursor = connection.cursor()
        cursor.execute(f"SELECT * FROM {_quoted(wanted[0])}")  # noqa: S608  the name of a table that there is
        frame = pl.DataFrame(pl.from_arrow(_arrow(cursor)))
    finally:
        connection.close()
    return label, table, frame


def _connected(database: str) -> Any:
    """Return a connection that only reads."""
    if database.startswith(ADDRESSES):
        try:
            from adbc_driver_postgresql import dbapi  # type: ignore[import-untyped]  # it has no types
        except ImportError:
            raise ImportError(
                "PostgreSQL needs its driver: pip install adbc-driver-postgresql"
            ) from None
        try:
            return dbapi.connect(database)
        except dbapi.Error as error:
            raise OSError(f"{_shown(database)} cannot be reached: {_first_line(error)}") from None
    try:
        import duckdb
    except ImportError:
        raise ImportError('a DuckDB file needs duckdb: pip install "uccurve[duckdb]"') from None
    if not Path(database).is_file():
        raise FileNotFoundError(f"{_shown(database)} does not exist.")
    try:
        return duckdb.connect(database, read_only=True)
    except duckdb.Error as error:
        raise OSError(f"{_shown(database)} cannot be read: {_first_line(error)}") from None


def _tables(connection: Any) -> list[str]:
    """Return the names of all tables and views, with their schema."""
    cursor = connection.cursor()
    cursor.execute(TABLES)
    return sorted(f"{schema}.{name}" for schema, name in cursor.fetchall())


def _which_table(label: str, database: str, table: str, names: list[str]) -> str:
    """Return what is said where a name fits no table, or several."""
    if not names:
        return f"{label} has no tables."
    plain = [name.removeprefix("main.").removeprefix("public.") for name in names]
    problem = f"no table {short(table)}" if table else "tables, one of which is read"
    example = next((name for name in plain if table and table in name), plain[0])
    address = short(database, 60) if not database.startswith(ADDRESSES) else label
    return (
        f"{label} has {problem}: it has {listed(plain)}.{nearest(table, plain)} "
        f"Hint: {address}{DATABASE}{example}."
    )


def _arrow(cursor: Any) -> Any:
    """Return all rows as an Arrow table."""
    fetch = getattr(cursor, "to_arrow_table", None) or cursor.fetch_arrow_table
    return fetch()


def _quoted(name: str) -> str:
    """Return a name as SQL writes it.

    >>> _quoted('main.a"b')
    '"main"."a""b"'
    """
    schema, _, table = name.partition(".")
    return ".".join('"' + part.replace('"', '""') + '"' for part in (schema, table))


def _shown(database: str) -> str:
    """Return a database for a sentence, without its password.

    >>> _shown("postgresql://ann:secret@db:5432/dw")
    'postgresql://ann@db:5432/dw'
    """
    if not database.startswith(ADDRESSES):
        return shown_path(database)
    parts = urlsplit(database)
    user = f"{parts.username}@" if parts.username else ""
    port = f":{parts.port}" if parts.port else ""
    return urlunsplit((parts.scheme, f"{user}{parts.hostname or ''}{port}", parts.path, "", ""))


def _first_line(error: BaseException) -> str:
    return short(str(error).partition("\n")[0], 200) + "."
