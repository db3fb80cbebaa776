"""The experiments' data and models: what goes in is clean, what comes out is what the recipe says."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

pytest.importorskip("sklearn")
pytest.importorskip("jax")
pytest.importorskip("numpyro")
pytest.importorskip("polars")

import jax
import jax.numpy as jnp
import polars as pl
from sklearn._loss import PinballLoss

from paper import bands, bnn, gap, housing, loaders, seq2seq, synthetic, tabular, traffic
from paper.experiment import Settings


def test_noise_around_the_sine_has_a_deviation_between_its_bounds() -> None:
    x, y = synthetic.noisy(np.random.default_rng(0), 200_000)
    error = y - synthetic.truth(x[:, 0])
    # A deviation 1.5 + U(0, 1) has the mean square 4 + 1/12.
    assert_allclose(error.std(), np.sqrt(4 + 1 / 12), rtol=0.01)
    assert 0 <= x.min() < x.max() <= 20


def test_gap_points_lie_in_the_regions_and_on_one_function() -> None:
    x, y, even, f = gap.sample(3, gap.EXPERIMENT.settings())
    inside = np.any([(low <= x) & (x <= high) for low, high in gap.REGIONS], axis=0)
    assert inside.all()
    assert len(x) == 400
    assert_allclose((y - np.interp(x, even, f)).std(), 0.1, rtol=0.15)


def test_folds_use_every_row_once_for_the_test_and_none_twice_in_a_fold() -> None:
    seen = []
    for train, held_out, test in tabular.splits(100, housing.EXPERIMENT.settings(), seed=0):
        assert_array_equal(np.sort(np.concatenate([train, held_out, test])), np.arange(100))
        assert len(held_out) == 9
        seen.append(test)
    assert_array_equal(np.sort(np.concatenate(seen)), np.repeat(np.arange(100), 2))


def test_the_meta_band_grows_with_the_error_and_is_never_negative() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (4000, 1))
    y = 2 * X[:, 0] * rng.standard_normal(4000)
    base, band = (
        tabular.boosted({"n_estimators": 50, "max_depth": 2}, seed=0, quantile=q)
        for q in (None, 0.95)
    )
    found = tabular.meta_bands((X, y), base, band, share=0.5, state=0)
    first, second = found(np.array([[0.02], [0.5], [0.95]])), found(np.array([[0.5]]))
    # The 0.95 quantile of |N(0, 2x)| is 1.96 * 2x.
    assert_allclose(first[1:], [1.96, 3.72], rtol=0.2)
    assert 0 <= first[0] < 0.5
    assert_allclose(second, first[1:2])


def test_all_models_of_a_fold_share_one_prediction() -> None:
    rng = np.random.default_rng(0)
    X, size = rng.standard_normal((300, 2)), {"n_estimators": 5, "max_depth": 2}
    settings = Settings(housing.EXPERIMENT.settings(), folds=3, strong=size, weak=size)
    data = X, X[:, 0] + rng.standard_normal(300)
    found = tabular.pooled(lambda: data, 0, settings)
    for period in ("held out", "test"):
        gbr, *others = (found[f"{period} {name}"] for name in tabular.MODELS)
        for other in others:
            assert_array_equal(other[:2], gbr[:2])
    y_true, y_pred, lower, upper = found["test Meta"]
    assert_allclose(upper - y_pred, y_pred - lower)
    assert (upper >= lower).all()
    assert len(y_true) == 2 * 300


def test_tiny_and_crossing_bands_are_raised_to_a_share_of_the_mean_half_width() -> None:
    y_true, y_pred = np.array([1.0, 2.0]), np.array([0.0, 0.0])
    # The second prediction lies above its upper bound; the mean half-width is (6 + 2) / 2 / 2 = 2.
    found = bands.repaired(np.stack([y_true, y_pred, [-2.0, -3.0], [4.0, -1.0]]))
    assert_allclose(found.upper_band, [4.0, 0.1])
    assert_allclose(found.lower_band, [2.0, 3.0])
    assert_allclose(found.y_pred, y_pred)


def test_a_row_equal_to_its_prediction_counted_as_not_above() -> None:
    y, prediction = np.array([1.0, 2.0, 3.0]), np.full(3, 2.0)
    today, earlier = (
        loss(sample_weight=None, quantile=0.9).gradient(y, prediction)
        for loss in (PinballLoss, tabular.EarlierQuantileLoss)
    )
    assert_allclose(today, [0.1, -0.9, -0.9])
    assert_allclose(earlier, [0.1, 0.1, -0.9])


def test_without_ties_the_earlier_rule_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    X, size = rng.standard_normal((200, 2)), {"n_estimators": 5, "max_depth": 2}
    sizes = Settings(strong=size, weak=size)
    y, kinds = rng.standard_normal(200), tabular.TODAY | {tabular.TIES: tabular.EarlierBoosting}
    first, rounded = (
        [found["new GBR"][2:], found["new GBR, earlier ties"][2:]]
        for target in (y, np.round(y))
        for found in [
            tabular.quantile_models((X, target), {"new": (X, y)}, sizes, seed=0, kinds=kinds)
        ]
    )
    assert (
        np.mean(first[0] != first[1]) < 0.2
    )  # a quantile is the value of a row, which ties with its own prediction
    assert np.abs(rounded[0] - rounded[1]).max() > 0.01


def fold_rows(error: float, band: float, n: int = 40) -> np.ndarray:
    """Rows of one fold: errors of both signs and one size, around bands of another."""
    y_true = error * np.where(np.arange(n) % 2, 1.0, -1.0)
    return np.stack([y_true, np.zeros(n), np.full(n, -band), np.full(n, band)])


def test_each_fold_gets_the_scale_that_is_cheapest_on_its_held_out_rows() -> None:
    rows = {
        "held out": np.concatenate([fold_rows(2.0, 1.0), fold_rows(3.0, 6.0)], axis=1),
        "test": np.concatenate([fold_rows(9.0, 1.5), fold_rows(9.0, 4.0)], axis=1),
    }
    fold = {period: np.repeat([0, 1], 40) for period in rows}
    found = bands.calibrated_by_fold(rows, fold, 1.0)
    assert_allclose(found.upper_band, np.repeat([3.0, 2.0], 40))
    assert_allclose(found.y_true, rows["test"][0])


def test_a_fold_is_shifted_where_that_is_cheaper_than_scaling() -> None:
    band = np.linspace(1.0, 2.0, 40)
    y_true = (band + 3.0) * np.where(np.arange(40) % 2, 1.0, -1.0)
    held_out = np.stack([y_true, np.zeros(40), -band, band])
    test = fold_rows(1.0, 5.0)
    fold = {"held out": np.zeros(40), "test": np.zeros(40)}
    found = bands.calibrated_by_fold({"held out": held_out, "test": test}, fold, 1.0)
    assert_allclose(found.upper_band, 8.0)


def test_our_bands_follow_the_errors_of_rows_that_the_base_has_not_seen() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (2000, 1))
    y = np.where(X[:, 0] > 0.5, 3.0, 0.3) * rng.standard_normal(2000)
    settings = Settings(strong={"n_estimators": 20, "max_depth": 2}, cross_fits=2)
    found = tabular.area_bands((X, y), settings, seed=0)
    assert set(found) == set(bands.OURS)
    low, high = (
        {name: predict(np.array([[x]]))[0] for name, predict in found.items()} for x in (0.2, 0.8)
    )
    ratio = {name: high[name] / low[name] for name in found}
    assert_allclose(ratio["Ours (ED)"], 10.0, rtol=0.25)  # the root mean square of the error
    assert_allclose(ratio["Ours (BM)"], np.sqrt(10.0), rtol=0.25)  # the root of its mean


def test_trees_see_only_earlier_errors_of_the_same_window() -> None:
    hour = np.array(
        [10, 11, 12, 14, 11, 12]
    )  # 13 was not observed, so 14 sees nothing; a new window begins at 11
    error = np.array([1.0, -2.0, 3.0, 4.0, 5.0, 6.0])
    part = {
        "test": np.stack([error, np.zeros(6), np.full(6, -7.0), np.full(6, 7.0)]),
        "test hour": hour,
    }
    *_, lag_1, size_1, lag_2, size_2, lag_3, _ = traffic.features(part, "test").T
    assert_array_equal(lag_1, [np.nan, 1.0, -2.0, np.nan, np.nan, 5.0])
    assert_array_equal(size_1, np.abs(lag_1))
    assert_array_equal(lag_2, [np.nan, np.nan, 1.0, np.nan, np.nan, np.nan])
    assert_array_equal(size_2, np.abs(lag_2))
    assert_array_equal(lag_3, [np.nan] * 6)


def test_an_online_band_knows_the_error_of_the_hour_before_and_no_later_one() -> None:
    windows = seq2seq.Windows(*(np.ones(shape) for shape in ((2, 3, 1), (2, 4, 1), (2, 4), (2, 4))))  # type: ignore[arg-type]
    observed = np.array([[1.0, 1.0, 0.0, 1.0], [1.0] * 4])
    values = np.array([[0.5, 3.0, 9.0, 1.0], [1.0] * 4])
    found = seq2seq.previous_errors(windows._replace(observed=observed), values)  # type: ignore[arg-type]
    assert_allclose(found, [[0.0, 0.5, -2.0, 0.0], [0.0] * 4])


def raw_hours() -> pl.DataFrame:
    """Six days of hours with a repeated hour, a gap of two hours, one of four, a holiday and impossible weather."""
    hours = [h for h in range(144) if h not in (30, 31, 60, 61, 62, 63)]
    times = [
        str(np.datetime64("2016-12-29T00") + np.timedelta64(h, "h")).replace("T", " ") + ":00:00"
        for h in hours
    ]
    table = pl.DataFrame(
        {
            "holiday": [
                "New Years Day" if t.startswith("2017-01-01 00") else "None" for t in times
            ],
            "temp": [0.0 if h == 5 else 280.0 + h for h in hours],
            "rain_1h": [9831.3 if h == 7 else 0.5 for h in hours],
            "snow_1h": [0.0] * len(hours),
            "clouds_all": [40] * len(hours),
            "date_time": times,
            "traffic_volume": [100 + h for h in hours],
        }
    )
    return pl.concat([table, table[10:11]])


def test_the_hourly_grid_mends_what_can_be_and_flags_the_rest() -> None:
    grid = loaders.hourly(raw_hours())
    assert grid.height == 144
    assert_array_equal(np.flatnonzero(~grid["observed"].to_numpy()), [30, 31, 60, 61, 62, 63])
    assert_array_equal(np.flatnonzero(~grid["usable"].to_numpy()), [60, 61, 62, 63])
    assert_allclose(grid["volume"].to_numpy(), 100 + np.arange(144))
    assert_allclose(grid["temp"].to_numpy()[[4, 5, 6]], [284, 285, 286])
    assert_allclose(grid["rain_1h"].to_numpy()[7], 0.0)
    assert_array_equal(np.flatnonzero(grid["holiday"].to_numpy()), np.arange(72, 96))


def test_no_window_reaches_over_a_long_gap() -> None:
    starts = traffic.window_starts(loaders.hourly(raw_hours()))
    # Rows 64 to 143 are usable, 80 in a row: no window of 96 hours fits.
    assert all(len(found) == 0 for found in starts.values())


def test_windows_of_the_real_data_stay_in_their_periods(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UCCURVE_DATA", str(shared_data))
    raw = loaders.traffic()
    data, time = traffic.series(raw), loaders.hourly(raw)["date_time"].to_numpy()
    assert np.isfinite(data["past"]).all()
    ends = {
        name: (time[s + traffic.PAST].min(), time[s + traffic.PAST + traffic.AHEAD - 1].max())
        for name, s in data["starts"].items()
    }
    assert ends["train"][1] < traffic.SPLIT[0] <= ends["held out"][0]
    assert ends["held out"][1] < traffic.SPLIT[1] <= ends["test"][0]
    hours = {
        name: np.unique(data["starts"][name][:, None] + traffic.PAST + np.arange(traffic.AHEAD))
        for name in ("inside", "outside")
    }
    assert not set(hours["inside"]) & set(hours["outside"])
    assert set(data["starts"]["inside"]) | set(data["starts"]["outside"]) < set(
        data["starts"]["train"]
    )
    windows = traffic.windows(data, data["starts"]["test"][:3])
    assert windows.past.shape == (3, 72, data["past"].shape[1])
    assert_allclose(
        windows.target[0] * data["unit"] + data["center"],
        data["volume"][data["starts"]["test"][0] + np.arange(72, 96)],
        rtol=1e-5,
    )


def test_an_lstm_step_follows_the_textbook() -> None:
    rng = np.random.default_rng(0)
    weights = {
        name: rng.standard_normal(shape)
        for name, shape in {"x": (3, 8), "h": (2, 8), "b": (8,)}.items()
    }
    x, h, c = rng.standard_normal((1, 3)), rng.standard_normal((1, 2)), rng.standard_normal((1, 2))
    found_h, found_c = seq2seq.step(weights, (h, c), x @ weights["x"] + weights["b"], 1.0)  # type: ignore[arg-type]
    gates = x @ weights["x"] + h @ weights["h"] + weights["b"]
    take, keep, out = (1 / (1 + np.exp(-gates[:, i : i + 2])) for i in (0, 2, 6))
    cell = keep * c + take * np.tanh(gates[:, 4:6])
    assert_allclose(found_c, cell, rtol=1e-5)
    assert_allclose(found_h, out * np.tanh(cell), rtol=1e-5)


@pytest.mark.parametrize("kind", ["meta", "online", "variance", "dropout"])
def test_a_forecaster_learns_where_its_errors_are_large(kind: seq2seq.Kind) -> None:
    changed = {
        "hidden": 16,
        "meta_hidden": 8,
        "updates": 150,
        "batch": 64,
        "passes": 10,
        "peak_rate": 1e-2,
    }
    effort = Settings(traffic.EXPERIMENT.settings(), **changed)

    def windows(rng: np.random.Generator) -> seq2seq.Windows:
        loud = rng.choice([0.0, 1.0], (64, 1, 1)) * np.ones((64, 4, 1))
        target = loud[..., 0] + (0.05 + 0.8 * loud[..., 0]) * rng.standard_normal((64, 4))
        past = np.concatenate(
            [rng.standard_normal((64, 6, 1)), loud[:, :1] * np.ones((64, 6, 1))], axis=2
        )
        arrays = past, loud, target, np.ones((64, 4))
        return seq2seq.Windows(*(np.asarray(a, dtype=np.float32) for a in arrays))  # type: ignore[arg-type]

    rng = np.random.default_rng(0)
    params = seq2seq.train(iter(lambda: windows(rng), None), kind, effort, seed=0)
    fresh = windows(np.random.default_rng(1))
    value, band = seq2seq.predict(params, fresh, kind, effort, seed=0)
    loud = np.asarray(fresh.calendar)[..., 0] > 0.5
    assert value.shape == band.shape == (64, 4)
    assert (band > 0).all()
    assert_allclose([value[loud].mean(), value[~loud].mean()], [1.0, 0.0], atol=0.25)
    if kind != "dropout":  # the spread of dropout passes knows the model's doubt, not the noise
        assert band[loud].mean() > 2 * band[~loud].mean()


def test_dropout_masks_have_the_mean_one_and_one_draw_a_sequence() -> None:
    settings = Settings(hidden=400, dropout=0.25)
    shapes: Any = ((50, 6, 3), (50, 4, 2), (50, 4), (50, 4))
    windows = seq2seq.Windows(*map(jnp.zeros, shapes))
    masks = seq2seq.draw_masks(jax.random.key(0), windows, settings)
    assert_allclose(np.asarray(masks["decoder"]).mean(), 1.0, atol=0.02)
    assert_allclose(np.unique(np.asarray(masks["decoder"])), [0, 4 / 3], rtol=1e-6)
    assert np.asarray(masks["past"]).shape == (50, 1, 3)


SMALLER = {
    "hidden": 10,
    "chains": 1,
    "warmup": 100,
    "draws": 200,
    "tree_depth": 6,
    "steps": 1500,
    "restarts": 2,
}
SMALL = Settings(bnn.EXPERIMENT.settings(), **SMALLER)


def training_points(seed: int) -> tuple[jax.Array, jax.Array]:
    x, y = jnp.asarray(bnn.data(seed, 0.5)["train"], jnp.float32)
    return x, y


def test_both_inferences_fit_the_data_and_nuts_doubts_more_in_the_gap() -> None:
    x, y = training_points(8)
    at = np.array([-2.0, 0.0, 2.0])
    draws = bnn.posterior_draws(x, y, SMALL, seed=0, kernel="NUTS")
    values = bnn.functions(draws, at)
    assert values.shape == (200, 3)
    assert_allclose(values.mean(axis=0)[[0, 2]], [-0.8, 0.8], atol=0.35)
    assert values.std(axis=0)[1] > values.std(axis=0)[[0, 2]].max()
    factors = bnn.variational(x, y, SMALL, seed=0)
    fitted = bnn.functions(bnn.variational_draws(factors, draws=500, key=jax.random.key(1)), at)
    assert_allclose(fitted.mean(axis=0)[[0, 2]], [-0.8, 0.8], atol=0.5)


def test_plain_hmc_obeys_its_step_and_number_of_steps() -> None:
    # 20 steps of 1e-4 move a weight by about 2e-3; NumPyro's default trajectory of 2 pi would move it by more than 1.
    short = {
        "hmc_iterations": 6,
        "hmc_burn_in": 2,
        "hmc_thinning": 1,
        "hmc_step": 1e-4,
        "hmc_leapfrog": 20,
    }
    settings = Settings(bnn.EXPERIMENT.settings(), hidden=5, **short)
    x, y = training_points(0)
    draws = bnn.posterior_draws(x, y, settings, seed=0, kernel="HMC")
    moves = np.abs(np.diff(np.asarray(draws["w1"]), axis=0))
    assert draws["w1"].shape == (4, 5)
    assert 1e-5 < moves.mean() < 1e-2


def test_the_evidence_bound_of_the_prior_has_no_divergence() -> None:
    prior = {"w1": np.zeros(3), "b1": np.zeros(3), "w2": np.zeros(3), "b2": np.zeros(())}
    zeros = {name: np.zeros_like(value) for name, value in prior.items()}
    settings = Settings(bnn.EXPERIMENT.settings(), hidden=3, samples=4000)
    nothing = np.zeros(0)
    bound = bnn.elbo((prior, zeros), jax.random.key(0), nothing, nothing, settings)  # type: ignore[arg-type]
    assert_allclose(bound, 0.0, atol=1e-6)


def test_log_likelihood_of_one_draw_is_the_normal_density() -> None:
    values, y = np.array([[0.5, 1.0]]), np.array([1.0, 1.0])
    expected = np.mean(-0.5 * ((y - values[0]) / 0.5) ** 2 - np.log(0.5 * np.sqrt(2 * np.pi)))
    assert_allclose(bnn.log_likelihood(values, y, 0.5), expected)
