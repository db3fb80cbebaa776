"""Posterior draws of ArviZ, xarray and NumPyro come through as central intervals around their median."""

from typing import Any

import numpy as np
import pytest

import uccurve as ucc
from adapted import assert_same
from uccurve.adapters import levels_from_posterior

RNG = np.random.default_rng(0)
OBSERVED, DRAWS = RNG.normal(size=20), RNG.normal(size=(4, 50, 20))


def assert_central(found: ucc.Intervals, y_true: Any, draws: Any, level: float = 0.9) -> None:
    points = {0.5: (0.25, 0.5, 0.75), 0.9: (0.05, 0.5, 0.95)}[level]
    lower, middle, upper = np.quantile(np.asarray(draws), points, axis=0)
    assert_same(found, y_true, middle, lower, upper)


def test_arviz_brings_draws_and_observations() -> None:
    arviz = pytest.importorskip("arviz")
    data = arviz.from_dict(
        posterior={"slope": RNG.normal(size=(4, 50))},
        posterior_predictive={"y": DRAWS},
        observed_data={"y": OBSERVED},
    )
    flat, drawn = DRAWS.reshape(200, 20), data.posterior_predictive["y"]
    assert_central(levels_from_posterior(data.observed_data["y"], drawn)[0.9], OBSERVED, flat)
    assert_central(levels_from_posterior(OBSERVED, drawn)[0.5], OBSERVED, flat, 0.5)
    for whole in (data, data.posterior_predictive, {"y": flat}):
        with pytest.raises(
            TypeError, match=r"`draws` must be an array; got \w+\. Hint: choose the variable"
        ):
            levels_from_posterior(OBSERVED, whole)


def test_xarray_dimensions_are_found_wherever_they_stand() -> None:
    xarray = pytest.importorskip("xarray")
    array = xarray.DataArray(DRAWS, dims=("chain", "draw", "row")).transpose("row", "draw", "chain")
    ours = levels_from_posterior(OBSERVED, array)[0.9]
    assert_central(
        ours, OBSERVED, np.asarray(array.transpose("draw", "chain", "row")).reshape(200, 20)
    )
    stacked = array.stack(sample=("chain", "draw"))
    np.testing.assert_allclose(
        levels_from_posterior(OBSERVED, stacked)[0.9].upper, ours.upper, rtol=1e-14
    )
    two = xarray.DataArray(DRAWS.reshape(4, 50, 5, 4), dims=("chain", "draw", "time", "site"))
    assert levels_from_posterior(OBSERVED.reshape(5, 4), two)[0.9].upper.shape == (5, 4)
    with pytest.raises(ValueError, match="must have a dimension chain, draw or sample; it has row"):
        levels_from_posterior(OBSERVED, xarray.DataArray(OBSERVED, dims=("row",)))


def test_numpyro_samples_come_through() -> None:
    numpyro = pytest.importorskip("numpyro")
    jax, arviz = pytest.importorskip("jax"), pytest.importorskip("arviz")
    from numpyro import distributions as dist
    from numpyro.infer import MCMC, NUTS, Predictive

    x = np.linspace(-1, 1, 20)

    def model(x: Any, y: Any = None) -> None:
        slope, spread = (
            numpyro.sample("slope", dist.Normal(0, 5)),
            numpyro.sample("spread", dist.HalfNormal(2)),
        )
        with numpyro.plate("row", len(x)):
            numpyro.sample("y", dist.Normal(slope * x, spread), obs=y)

    mcmc = MCMC(NUTS(model), num_warmup=50, num_samples=50, progress_bar=False)
    mcmc.run(jax.random.PRNGKey(0), x, OBSERVED)
    drawn = Predictive(model, mcmc.get_samples())(jax.random.PRNGKey(1), x)
    assert_central(
        levels_from_posterior(OBSERVED, drawn["y"])[0.9],
        OBSERVED,
        np.asarray(drawn["y"], dtype=np.float64),
    )
    data = arviz.from_numpyro(mcmc, posterior_predictive=drawn)
    ours = levels_from_posterior(data.observed_data["y"], data.posterior_predictive["y"])[0.9]
    np.testing.assert_allclose(ours.y_true, OBSERVED, rtol=1e-6)  # jax observes in float32
    assert_central(ours, ours.y_true, np.asarray(drawn["y"], dtype=np.float64))


def test_all_levels_make_a_curve() -> None:
    found = levels_from_posterior(OBSERVED, DRAWS[0], levels=[0.9, 0.5])
    assert list(found) == [0.5, 0.9]
    for level, iv in found.items():
        assert_central(iv, OBSERVED, DRAWS[0], level)
    assert ucc.UCC.from_levels(levels_from_posterior(OBSERVED, DRAWS[0])).levels[-1] == 0.99


@pytest.mark.parametrize("count", [21, 41])  # whose 5%, 25%, 75% and 95% quantiles are draws
def test_intervals_of_few_draws_are_too_narrow_by_a_known_factor(count: int) -> None:
    rng = np.random.default_rng(count)
    found = levels_from_posterior(
        rng.normal(size=20_000), rng.normal(size=(count, 20_000)), levels=[0.5, 0.9]
    )
    for level, iv in found.items():
        expected = level * (count - 1) / (count + 1)
        covered = 1 - ucc.UCC(iv).at(1.0).miss_rate
        assert covered == pytest.approx(
            expected, abs=4 * (expected * (1 - expected) / 20_000) ** 0.5
        )


def test_draws_of_another_shape_are_refused() -> None:
    with pytest.raises(
        ValueError,
        match=r"`samples` must be a regular array of numbers: its rows differ in length\.",
    ):
        levels_from_posterior([1.0, 2.0], [[1.0, 2.0], [3.0]])
    with pytest.raises(ValueError, match="`samples` must have draws on the first axis"):
        levels_from_posterior(OBSERVED, DRAWS)
