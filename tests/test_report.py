"""The report carries the numbers of the library, stands alone, and treats every name as text."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import uccurve as ucc
from uccurve._checks import METRICS
from uccurve.report._data import curve_data, explorer_data, sample_data
from uccurve.report._page import page
from uccurve.report._webpage import embedded

EVIL = "</script><script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>"


def intervals(n: int = 200, seed: int = 0) -> ucc.Intervals:
    rng = np.random.default_rng(seed)
    y_pred = rng.normal(size=n)
    band = rng.uniform(0.3, 2, n)
    return ucc.Intervals.from_bands(y_pred + band * rng.normal(size=n), y_pred, 0.8 * band, 1.1 * band)


def assessed(n: int = 200, **options: Any) -> ucc.Assessment:
    one = intervals(n)
    models = {"A": one, EVIL: ucc.Intervals.from_bands(one.y_true, one.y_pred, np.full(n, 0.9))}
    site = np.where(np.arange(n) % 3 > 0, "north", "<b>south</b>")
    return ucc.assess(models, by={"site": site}, n_resamples=99, n_permutations=99, **options)


class Parsed(HTMLParser):
    """Elements with their attributes, and the text of scripts and of everything else."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.words: list[str] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, _: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif self._inside != "style":
            self.words.append(data)


@pytest.fixture(scope="module")
def found() -> ucc.Assessment:
    return assessed(alpha=0.1)


@pytest.fixture(scope="module")
def parsed(found: ucc.Assessment) -> Parsed:
    return Parsed(found.to_html())


def data_of(parsed: Parsed) -> Any:
    (text,) = (text for attributes, text in parsed.scripts if attributes.get("id") == "report-data")
    return json.loads(text)


# What the page carries


@pytest.mark.parametrize("vary", ["scale", "shift"])
def test_a_short_curve_is_carried_whole(vary: Any) -> None:
    c = ucc.UCC(intervals(), vary=vary)
    data = curve_data(c, most=3000)
    table = c.table()
    assert data["exact"]
    assert data["off"] == 0
    assert data["vertices"] == len(table[vary]) <= len(data["t"])
    for name in METRICS:
        assert_allclose(data[name][: len(table[name])], table[name], rtol=1e-6)


@pytest.mark.parametrize("most", [40, 400])
def test_a_long_curve_is_off_by_no_more_than_it_says(most: int) -> None:
    c = ucc.UCC(intervals(30_000))
    data, table = curve_data(c, most=most), c.table()
    assert not data["exact"]
    assert len(data["t"]) <= most + 8
    end = np.searchsorted(data["t"], data["end"] * (1 + 1e-6), side="right")  # what follows is beyond the curve
    settled = table["miss_rate"] <= 0.01
    for name in METRICS:
        line = np.interp(table["scale"], data["t"][:end], data[name][:end])
        size = table[name][0] if name in ("miss_rate", "deficit") else table[name][np.argmax(settled)]
        assert np.abs(line - table[name]).max() <= 1.001 * data["off"] * size + 1e-6 * size
    assert data["off"] < (0.05 if most == 40 else 0.002)


def test_the_model_as_delivered_is_carried_where_it_lies_beyond_the_curve() -> None:
    c = ucc.UCC(intervals().calibrated(scale=20))
    data = curve_data(c)
    place = data["t"].index(1.0)
    assert data["end"] < 1
    for name in METRICS:
        assert_allclose(data[name][place], getattr(c.at(1.0), name), rtol=1e-6)


def test_sampled_rows_are_ordered_by_prediction_and_named_by_number() -> None:
    iv = intervals(1000)
    sample = sample_data(iv, most=50)
    assert len(sample["row"]) == 50
    assert sample["y_pred"] == sorted(sample["y_pred"])
    assert_allclose(sample["y_true"], iv.y_true[sample["row"]], rtol=1e-6)


def test_models_share_one_constant_band_only_if_they_share_predictions() -> None:
    one, other = ucc.UCC(intervals()), ucc.UCC(intervals(seed=1))
    wide = ucc.UCC(one.intervals.calibrated(scale=3))
    shared = explorer_data({"A": one, "B": wide}, axes=("bandwidth", "miss_rate"), cost=0.1)
    apart = explorer_data({"A": one, "B": other}, axes=("bandwidth", "miss_rate"), cost=0.1)
    assert [reference["name"] for reference in shared["references"]] == ["constant band"]
    assert [reference["name"] for reference in apart["references"]] == ["constant band of A", "constant band of B"]


def test_ten_models_of_many_rows_make_a_page_of_less_than_6_mb() -> None:
    models = {f"model {i}": intervals(20_000, seed=0).calibrated(scale=1 + i) for i in range(10)}
    text = ucc.assess(models, n_resamples=9, n_permutations=9).to_html()
    assert len(text.encode()) < 6_000_000


# What the page may do


def test_only_its_own_scripts_may_run_and_nothing_may_be_requested(parsed: Parsed) -> None:
    (policy,) = (a["content"] for tag, a in parsed.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert set(rules) == {"default-src", "script-src", "style-src", "img-src", "base-uri", "form-action"}
    assert rules["img-src"] == "data: blob:"
    run = [text for attributes, text in parsed.scripts if attributes.get("type") != "application/json"]
    hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in run]
    assert rules["script-src"].split() == hashes


def test_the_policy_comes_before_anything_it_has_to_rule(parsed: Parsed) -> None:
    tags = [tag for tag, _ in parsed.elements]
    place = next(i for i, (_, a) in enumerate(parsed.elements) if a.get("http-equiv"))
    assert set(tags[:place]) <= {"html", "head", "meta"}


def test_no_attribute_runs_a_script_or_fetches_a_file(parsed: Parsed) -> None:
    for tag, attributes in parsed.elements:
        assert not any(name.startswith("on") for name in attributes), (tag, attributes)
        for name in ("src", "href", "action", "data"):
            assert (attributes.get(name) or "#").startswith(("#", "data:,")), (tag, attributes)


def test_names_are_text_everywhere(found: ucc.Assessment, parsed: Parsed) -> None:
    assert "img" not in [tag for tag, _ in parsed.elements]
    assert "b" not in [tag for tag, _ in parsed.elements]
    assert len(parsed.scripts) == 3
    assert EVIL in "".join(parsed.words)
    assert [model["name"] for model in data_of(parsed)["models"]] == ["A", EVIL]
    assert EVIL not in found.to_html()


@given(
    st.recursive(
        st.text() | st.integers() | st.booleans(), lambda inner: st.dictionaries(st.text(), inner), max_leaves=5
    )
)
def test_embedded_data_come_back_and_cannot_leave_their_element(value: Any) -> None:
    text = embedded({"value": value})
    assert json.loads(text) == {"value": value}
    assert not set("<>&") & set(text)


# What the page says


def cells(parsed: Parsed) -> str:
    return re.sub(r"\s+", " ", " ".join(parsed.words))


def test_the_tables_hold_the_numbers_of_the_assessment(found: ucc.Assessment, parsed: Parsed) -> None:
    text = cells(parsed)
    for row in found.rows:
        assert f"{100 * row.miss_rate:.2f} %" in text
        assert f"{100 * row.gain_excess_deficit:+.1f} %" in text
        assert f"{row.cheapest_cost:.4g}" in text
        assert row.interval_score is not None
        assert f"{row.interval_score:.4g}" in text
    assert f"{found.comparisons[0].pvalue:.4g}" in text
    assert found.crossings[0].verdict in text
    assert "site: <b>south</b>" in text
    assert f"{len(found.failing) or 'No'} of {len(found.segments)} segments" in text


def test_every_number_in_a_table_can_be_sorted_by_its_value(parsed: Parsed, found: ucc.Assessment) -> None:
    values = [float(a["data-value"] or "nan") for tag, a in parsed.elements if tag == "td" and "data-value" in a]
    for row in found.rows:
        for name in ("miss_rate", "bandwidth", "gain_bandwidth_deficit", "partial_gain", "cost"):
            assert getattr(row, name) in values


def test_one_model_needs_no_pairs_and_no_segments() -> None:
    parsed = Parsed(page(ucc.assess(intervals(), n_resamples=99), title="Only <one>"))
    text = cells(parsed)
    assert "Only <one>" in text
    assert "Is the difference noise?" not in text
    assert "Where the order flips" not in text
    assert not any(a.get("id") == "segments" for _, a in parsed.elements)
    assert "200 rows, one model." in text


def test_a_page_is_made_of_data_with_undefined_answers() -> None:
    y = np.array([1.0, 1.0, 1.0, 1.0])
    zero = ucc.Intervals.from_bands(y, np.array([0.0, 1, 1, 1]), np.array([0.0, 0, 0, 1]))
    data = data_of(Parsed(ucc.assess({"zero": zero}, n_resamples=9).to_html()))
    assert data["std"] is None
    assert data["gains"][0]["spans"] == {}


def test_notes_and_differing_predictions_are_told() -> None:
    one = intervals()
    other = ucc.Intervals.from_bands(one.y_true, one.y_pred + 0.2, one.lower_band)
    found = ucc.assess({"A": one, "B": other}, n_resamples=99, n_permutations=99)
    parsed = Parsed(found.to_html())
    assert not data_of(parsed)["comparable"]
    assert all(note in cells(parsed) for note in found.notes)
    assert found.notes
