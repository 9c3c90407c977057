"""Bases and trajectories: derivatives, extremes, rest, sampling; each against another way to the same number."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import Polynomial
from seeds import cases

from ident.errors import ExcitationError
from ident.excitation import Basis, Fourier, FourierAndPolynomial, Trajectory, through
from ident.excitation.bases import greatest as greatest_of
from ident.excitation.bases import resting as at_rest_of

BASES = [Fourier(0.15 * np.pi, 5), Fourier(2.0, 1), FourierAndPolynomial(0.9, 4)]
NAMES = ("a", "b", "c")


def drawn(basis: Basis, seed: int, n: int = 3) -> Trajectory:
    rng = np.random.default_rng(seed)
    return Trajectory(basis, rng.normal(size=(n, basis.size)), NAMES[:n])


def resting(basis: Basis, seed: int) -> Trajectory:
    free = at_rest_of(basis)
    return Trajectory(basis, np.random.default_rng(seed).normal(size=(3, free.shape[1])) @ free.T, NAMES)


def exact(basis: Basis, row: np.ndarray, t: float, order: int) -> float:
    """The derivative by other means: complex exponentials, numpy's Polynomial."""
    total, L, w = 0.0, basis.harmonics, basis.base
    for k in range(1, L + 1):
        a, b = row[2 * k - 1], row[2 * k]
        # a sin(x) - b cos(x) = Re((-i a - b) e^ix), divided by its frequency
        total += ((-1j * a - b) / (w * k) * (1j * w * k) ** order * np.exp(1j * w * k * t)).real
    if isinstance(basis, FourierAndPolynomial):
        p = Polynomial(np.concatenate([[0.0], row[-5:] / basis.duration ** np.arange(1, 6)]))
        total += p.deriv(order)(t) if order else p(t)
    return float(total + (row[0] if order == 0 else 0.0))


@pytest.mark.parametrize("basis", BASES, ids=repr)
@pytest.mark.parametrize("order", range(5))
def test_derivatives_are_exact(basis: Basis, order: int) -> None:
    trajectory = drawn(basis, 1)
    t = np.random.default_rng(2).uniform(0, basis.duration, 40)
    got = trajectory.derivative(t, order)
    wanted = np.array([[exact(basis, row, x, order) for row in trajectory.coefficients] for x in t])
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max() + 1e-300)


@pytest.mark.parametrize("basis", BASES, ids=repr)
def test_each_derivative_is_the_slope_of_the_one_before(basis: Basis) -> None:
    """Sixth-order central differences."""
    t, h = np.linspace(0.2, basis.duration - 0.2, 31) + 0.0123, 2e-3 * basis.duration / basis.size
    for order in range(4):
        v = [basis.values(t + k * h, order) for k in (-3, -2, -1, 1, 2, 3)]
        slope = (-v[0] + 9 * v[1] - 45 * v[2] + 45 * v[3] - 9 * v[4] + v[5]) / (60 * h)
        wanted = basis.values(t, order + 1)
        assert np.abs(slope - wanted).max() < 1e-9 * np.abs(wanted).max()


def test_states_are_the_derivatives() -> None:
    trajectory = drawn(BASES[0], 3)
    t = np.linspace(0, 5, 7)
    for got, order in zip(trajectory.states(t), range(3), strict=True):
        assert got.shape == (7, 3)
        np.testing.assert_array_equal(got, trajectory.derivative(t, order))


@pytest.mark.parametrize("basis", BASES, ids=repr)
def test_rest_at_both_ends(basis: Basis) -> None:
    free = at_rest_of(basis)
    lost = 4 if isinstance(basis, FourierAndPolynomial) else 2
    assert free.shape == (basis.size, basis.size - lost)
    np.testing.assert_allclose(free.T @ free, np.eye(free.shape[1]), atol=1e-14)
    trajectory = resting(basis, 4)
    ends = np.array([0.0, basis.duration])
    for order in (1, 2):
        least, most = trajectory.extremes(order)
        size = np.maximum(-least, most)
        assert (np.abs(trajectory.derivative(ends, order)) <= 1e-12 * np.maximum(size, 1e-3)).all()
    assert trajectory.at_rest()
    assert not drawn(basis, 4).at_rest()


def test_nothing_at_rest_is_left_out() -> None:
    """Swevers' series rests at its ends exactly when sum a = 0 and sum l b = 0."""
    basis = Fourier(1.3, 6)
    row = np.random.default_rng(5).normal(size=basis.size)
    row[1] -= row[1::2].sum()
    row[2] -= np.arange(1, 7) @ row[2::2]
    np.testing.assert_allclose(at_rest_of(basis) @ (at_rest_of(basis).T @ row), row, atol=1e-13)


def test_from_rest_to_rest_anywhere() -> None:
    basis = FourierAndPolynomial(0.7, 5)
    start, end = np.array([0.3, -2.0, 0.0]), np.array([-1.1, 2.5, 0.0])
    particular, free = through(basis, start, end)
    assert free.shape == (basis.size, basis.size - 6)
    z = np.random.default_rng(6).normal(size=(3, free.shape[1]))
    trajectory = Trajectory(basis, particular + z @ free.T, NAMES)
    q, qd, qdd = trajectory.states(np.array([0.0, trajectory.duration]))
    np.testing.assert_allclose(q, [start, end], atol=1e-12)
    assert np.abs(qd).max() < 1e-12
    assert np.abs(qdd).max() < 1e-12 * np.max(trajectory.extremes(2)[1])
    np.testing.assert_allclose(particular @ free, 0.0, atol=1e-12)  # the smallest coefficients


def test_a_periodic_motion_from_rest_ends_where_it_starts() -> None:
    basis = BASES[0]
    start = np.array([0.3, -2.0, 1.0])
    particular, free = through(basis, start, start)
    z = np.random.default_rng(6).normal(size=(3, free.shape[1]))
    trajectory = Trajectory(basis, particular + z @ free.T, NAMES)
    np.testing.assert_allclose(trajectory.states(np.array([0.0, basis.duration]))[0], [start, start], atol=1e-12)
    assert trajectory.at_rest()
    with pytest.raises(ExcitationError, match=r"goes from -2 to -1 \(joint 2\).*FourierAndPolynomial"):
        through(basis, start, start + np.array([0, 1, 0]))


@pytest.mark.parametrize("basis", [b for b in BASES if b.periodic], ids=repr)
def test_periodic(basis: Basis) -> None:
    trajectory = drawn(basis, 7)
    t = np.random.default_rng(8).uniform(0, basis.duration, 20)
    for a, b in zip(trajectory.states(t), trajectory.states(t - 2 * basis.duration), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 * np.abs(a).max())


def scale(basis: Basis, row: np.ndarray, order: int) -> float:
    """What the magnitudes of the coefficients allow."""
    t = np.linspace(0, basis.duration, 101)
    return float((np.abs(basis.values(t, order)) @ np.abs(row)).max())


@settings(max_examples=cases(80))
@given(
    st.sampled_from(BASES),
    st.lists(st.sampled_from([0.0, 1.0, -1.0, 1e-9, 1e-3, 0.5, -2.0, 1e4, 1e-200]), min_size=14, max_size=14),
    st.integers(0, 3),
    st.integers(0, 2**31),
)
def test_extremes_against_very_fine_sampling(basis: Basis, factors: list[float], order: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    row = np.resize(factors, basis.size) * rng.choice([1.0, rng.normal()], basis.size)
    (least,), (most,) = basis.extremes(row[None], order)
    t = np.append(np.linspace(0, basis.duration, 40_001), rng.uniform(0, basis.duration, 100))
    v = basis.values(t, order) @ row
    tiny = 1e-12 * scale(basis, row, order) + 1e-250
    assert least - tiny <= v.min()
    assert v.max() <= most + tiny
    # and not far outside: the grid misses an extremum by at most max|p''| h^2 / 8 (times |p'| h for a kink)
    h = basis.duration / 40_000
    loose = scale(basis, row, order + 2) * h**2 + tiny
    assert least >= v.min() - loose
    assert most <= v.max() + loose


@settings(max_examples=cases(50))
@given(st.integers(1, 12), st.integers(0, 3), st.integers(0, 2**31))
def test_extremes_of_a_series_are_at_roots_of_its_derivative(harmonics: int, order: int, seed: int) -> None:
    """With z = exp(i w t), z^L p'(t) is a polynomial in z; its roots on the unit circle are where p is extreme."""
    basis = Fourier(1.7, harmonics)
    row = np.random.default_rng(seed).normal(size=basis.size)
    polynomial = np.zeros(2 * harmonics + 1, dtype=complex)
    for k in range(1, harmonics + 1):
        half = (-1j * row[2 * k - 1] - row[2 * k]) / (1.7 * k) * (1.7j * k) ** (order + 1) / 2
        polynomial[harmonics + k], polynomial[harmonics - k] = half, np.conj(half)
    z = np.roots(polynomial[::-1])
    v = basis.values(np.angle(z) / 1.7, order) @ row
    (least,), (most,) = basis.extremes(row[None], order)
    np.testing.assert_allclose([least, most], [v.min(), v.max()], rtol=0, atol=1e-11 * scale(basis, row, order))


@settings(max_examples=cases(40))
@given(st.sampled_from(BASES), st.integers(0, 3), st.integers(0, 2**31))
def test_the_bounds_alone_miss_nothing(basis: Fourier, order: int, seed: int) -> None:
    """From a single interval, no grid helps to find the peak."""
    rows = np.random.default_rng(seed).normal(size=(3, basis.size))
    t = np.linspace(0, basis.duration, 20_001)
    v = basis.values(t, order) @ rows.T
    assert (np.abs(v).max(axis=0) <= basis.magnitude(rows, order) * (1 + 1e-12)).all()
    least, most = -greatest_of(basis, -rows, order, 1), greatest_of(basis, rows, order, 1)
    far = np.abs(basis.values(t, order + 2) @ rows.T).max(axis=0) * t[1] ** 2
    tiny = 1e-12 * basis.magnitude(rows, order)
    assert (v.max(axis=0) - tiny <= most).all()
    assert (most <= v.max(axis=0) + far).all()
    assert (v.min(axis=0) + tiny >= least).all()
    assert (least >= v.min(axis=0) - far).all()


def test_extremes_where_the_maximum_is_flat() -> None:
    """cos x - cos(2x)/4 has p'' = 0 at its greatest value 3/4, and a fine grid elsewhere sees less."""
    basis = Fourier(1.0, 2)
    row = np.array([0.0, 0.0, -1.0, 0.0, 0.5])  # -b_l / l cos(l t)
    (least,), (most,) = basis.extremes(row[None], 0)
    assert most == pytest.approx(0.75, abs=1e-13)
    assert least == pytest.approx(-1.25, abs=1e-13)


@pytest.mark.parametrize("harmonics", [60, 1000])
def test_narrow_peaks_are_found(harmonics: int) -> None:
    """All harmonics in phase: a peak that a coarse grid could step over."""
    basis = Fourier(1.0, harmonics)
    at = 2.345678
    k = np.arange(1, harmonics + 1)
    row = np.zeros(basis.size)
    row[1::2], row[2::2] = np.cos(k * at), np.sin(k * at)  # qd = sum cos(k (t - at))
    assert basis.extremes(row[None], 1)[1][0] == pytest.approx(harmonics, rel=2e-12)


@pytest.mark.parametrize("order", range(4))
@pytest.mark.slow
def test_extremes_of_a_thousand_harmonics_are_between_samples_and_ehlich_zellers_bound(order: int) -> None:
    """N > 2 L equidistant samples of a trigonometric polynomial of degree L: max|p| <= max_k |p_k| / cos(pi L / N)."""
    L, N = 1000, 16_000
    basis = Fourier(2 * np.pi, L)
    rows = np.random.default_rng(order).normal(size=(2, basis.size))
    k = np.arange(1, L + 1)
    wave = (-1j * rows[:, 1::2] - rows[:, 2::2]) * 1j**order * (2 * np.pi * k) ** (order - 1.0)
    circle = np.exp(2j * np.pi * np.arange(N) / N)
    samples = np.concatenate([(circle[np.outer(m, k) % N] @ wave.T).real for m in np.arange(N).reshape(16, -1)])
    middle = rows[:, 0] if order == 0 else np.zeros(2)
    least, most = basis.extremes(rows, order)
    tiny = 1e-12 * basis.magnitude(rows, order)
    assert (samples.max(axis=0) <= most - middle + tiny).all()
    assert (samples.min(axis=0) >= least - middle - tiny).all()
    greatest = np.maximum(most - middle, middle - least)
    assert (greatest <= np.abs(samples).max(axis=0) / np.cos(np.pi * L / N) + tiny).all()
    # closer: between two samples a peak rises by max|p''| / (8 N^2) at most, and |p''| is bounded likewise
    curve = np.abs(np.array(basis.extremes(rows, order + 2))).max(axis=0)
    assert (most - middle <= samples.max(axis=0) + curve / (8 * N**2) + tiny).all()
    assert (least - middle >= samples.min(axis=0) - curve / (8 * N**2) - tiny).all()


def test_high_harmonics_are_as_exact_as_low_ones() -> None:
    basis = Fourier(2 * np.pi, 5000)  # one second
    t = np.random.default_rng(3).uniform(0, 3, 5)
    for k in (1, 2, 777, 4999, 5000):
        with mpmath.workdps(40):
            phase = [2 * mpmath.pi * k * mpmath.mpf(float(x)) for x in t]
            wanted = np.array([[float(mpmath.cos(p)), float(mpmath.sin(p))] for p in phase])
        np.testing.assert_allclose(basis.values(t, 1)[:, 2 * k - 1 : 2 * k + 1], wanted, rtol=0, atol=4e-16)


def test_long_tables_are_worked_off_in_parts() -> None:
    trajectory = drawn(Fourier(1.0, 700), 3)
    t = np.linspace(0, 6, 3500)  # more than 4e6 values
    for k in (0, 1700, 3499):
        np.testing.assert_allclose(
            trajectory.derivative(t, 1)[k], trajectory.derivative(t[k : k + 1], 1)[0], rtol=1e-12
        )


def test_the_polynomial_part_is_extreme_at_its_ends_too() -> None:
    basis = FourierAndPolynomial(1.0, 2)
    row = np.zeros(basis.size)
    row[5] = 3.0  # a ramp
    least, most = basis.extremes(row[None], 0)
    assert (least[0], most[0]) == (0.0, pytest.approx(3.0, abs=1e-14))
    assert basis.extremes(row[None], 1)[1][0] == pytest.approx(3.0 / basis.duration, rel=1e-14)
    np.testing.assert_array_equal(basis.extremes(row[None], 3), [[0.0], [0.0]])


def test_motions_that_stand_still() -> None:
    basis, row = BASES[0], np.eye(BASES[0].size)[:1]
    least, most = basis.extremes(row, 0)
    assert least == pytest.approx(1.0, abs=1e-15)
    assert most == pytest.approx(1.0, abs=1e-15)
    assert np.abs(basis.extremes(row, 1)).max() < 1e-13


def test_sampling_a_periodic_motion_leaves_out_the_end() -> None:
    trajectory = resting(Fourier(np.pi, 3), 9)  # 2 s
    t, q, qd, qdd = trajectory.sample(100)
    assert len(t) == 200
    assert t[0] == 0.0
    assert t[-1] == pytest.approx(1.99)
    assert np.abs(qd[0]).max() < 1e-14
    assert np.abs(qdd[0]).max() < 1e-13
    np.testing.assert_array_equal(q, trajectory.states(t)[0])


def test_playing_back_includes_the_end() -> None:
    trajectory = resting(Fourier(3.0, 3), 9)  # 2.094 s: no whole number of samples
    t, q, qd, qdd = trajectory.playback(100, periods=3)
    assert t[-2] < 3 * trajectory.duration <= t[-1] < 3 * trajectory.duration + 0.01
    np.testing.assert_allclose(np.diff(t), 0.01, atol=1e-12)
    np.testing.assert_allclose(q[-1], q[0], atol=1e-12)
    assert max(np.abs(qd[-1]).max(), np.abs(qdd[-1]).max()) < 1e-11
    assert len(resting(Fourier(np.pi, 3), 9).playback(100)[0]) == 201


def test_a_motion_that_is_not_periodic_includes_its_end() -> None:
    trajectory = resting(FourierAndPolynomial(3.0, 3), 9)
    t, q, *_ = trajectory.sample(100)
    assert t[-1] >= trajectory.duration
    np.testing.assert_allclose(q[-1:], trajectory.states([trajectory.duration])[0], atol=1e-14)
    with pytest.raises(ExcitationError, match="not periodic and cannot be played 2 times"):
        trajectory.playback(100, periods=2)
    with pytest.raises(ExcitationError, match=r"lasts from 0 to 2\.0944 s, asked for 2\.2 s"):
        trajectory.states([0.0, 2.2])


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Fourier(0.0, 5), "base frequency .* must be positive"),
        (lambda: Fourier(math.nan, 5), "base frequency .* finite"),
        (lambda: Fourier(1e9, 5), "between 1e-6 and 1e6"),
        (lambda: Fourier("fast", 5), "must be numbers"),
        (lambda: Fourier(1.0, 0), "harmonics must be a whole number from 1 on, got 0"),
        (lambda: Fourier(1.0, 2.5), "whole number"),
        (lambda: Fourier(1.0, True), "whole number"),
        (lambda: FourierAndPolynomial(-1.0, 5), "must be positive"),
        (lambda: Trajectory(Fourier(1.0, 1), np.zeros((2, 4)), ("a", "b")), r"shape \(2, 3\), got \(2, 4\)"),
        (lambda: Trajectory(Fourier(1.0, 1), [[0, 0, np.nan]], ("a",)), r"coefficients\[0, 2\] is nan"),
        (lambda: Trajectory(Fourier(1.0, 1), [[0, 0, 1e13]], ("a",)), "no robot can follow"),
        (lambda: Trajectory(Fourier(1.0, 1), np.zeros((2, 3)), ("a", "a")), "'a' is named twice"),
        (lambda: Trajectory(Fourier(1.0, 1), np.zeros((1, 3)), ("a\nb",)), "cannot be the name"),
        (lambda: Trajectory(Fourier(1.0, 1), np.zeros((0, 3)), ()), "at least one joint"),
        (lambda: drawn(BASES[0], 1).states([[0.0]]), "t must have shape"),
        (lambda: drawn(BASES[0], 1).states([math.inf]), "finite"),
        (lambda: drawn(BASES[0], 1).sample(0), "rate .* positive"),
        (lambda: drawn(Fourier(1e-6, 1), 1).sample(1e4), "samples, wanted 1e7 at most"),
        (lambda: drawn(BASES[0], 1).playback(10, 0), "number of periods"),
        (lambda: drawn(BASES[0], 1).extremes(4), "order of the derivative must be a whole number from 0 to 3"),
        (lambda: through(BASES[2], [0.0, 1.0], [0.0]), "end posture must have shape"),
    ],
)
def test_refused(make: object, problem: str) -> None:
    with pytest.raises(ExcitationError, match=problem):
        make()
