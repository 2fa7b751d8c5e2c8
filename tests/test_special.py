# SPDX-License-Identifier: Apache-2.0
"""Special functions against values of mpmath with 40 digits, on both sides of every switch from one method to another."""
import math

import pytest

CASES = [
    ("bessel_j0", (1e-05,), 0.999999999975),
    ("bessel_j1", (1e-05,), 4.9999999999375004e-6),
    ("bessel_y0", (1e-05,), -7.4031602837019701),
    ("bessel_y1", (1e-05,), -63661.97727536548),
    ("bessel_j0", (6.5,), 0.26009460558160638),
    ("bessel_j1", (6.5,), -0.15384130140997184),
    ("bessel_y0", (6.5,), -0.17324243491898234),
    ("bessel_y1", (6.5,), -0.27409127395927545),
    ("bessel_j0", (11.7,), -0.021331281388499677),
    ("bessel_j1", (11.7,), -0.23330024083143019),
    ("bessel_y0", (11.7,), -0.23218059301935658),
    ("bessel_y1", (11.7,), 0.011446011327523885),
    ("bessel_j0", (24.9,), 0.08324596835301549),
    ("bessel_j1", (24.9,), -0.13485569953140887),
    ("bessel_y0", (24.9,), -0.13649918399676524),
    ("bessel_y1", (24.9,), -0.086002557595554252),
    ("bessel_j0", (25.1,), 0.10827567149994945),
    ("bessel_j1", (25.1,), -0.11463478413442257),
    ("bessel_y0", (25.1,), -0.11676770763803695),
    ("bessel_y1", (25.1,), -0.11062223322783099),
    ("bessel_j0", (80.0,), -0.069742165512210023),
    ("bessel_j1", (80.0,), -0.056057296675712578),
    ("bessel_y0", (80.0,), -0.05562033908977),
    ("bessel_y1", (80.0,), 0.069395913784588047),
    ("bessel_j0", (1234.5,), -0.013550379618035722),
    ("bessel_j1", (1234.5,), 0.018217508337392498),
    ("bessel_y0", (1234.5,), 0.018222995047412552),
    ("bessel_y1", (1234.5,), 0.013557761447180334),
    ("modified_bessel_k0", (1e-300,), 690.89145941387212),
    ("modified_bessel_k1", (1e-300,), 9.9999999999999997e+299),
    ("modified_bessel_k0", (0.01,), 4.7212447301610949),
    ("modified_bessel_k1", (0.01,), 99.973894118296246),
    ("modified_bessel_k0", (0.99,), 0.42709503097965784),
    ("modified_bessel_k1", (0.99,), 0.61224897799922949),
    ("modified_bessel_k0", (1.01,), 0.415056144085075),
    ("modified_bessel_k1", (1.01,), 0.59178817797297012),
    ("modified_bessel_k0", (4.5,), 0.006399857243233975),
    ("modified_bessel_k1", (4.5,), 0.0070780949089680897),
    ("modified_bessel_k0", (300.0,), 3.7236948548891433e-132),
    ("modified_bessel_k1", (300.0,), 3.7298958583323727e-132),
    ("scaled_modified_bessel_k0", (0.5,), 1.5241093857739095),
    ("scaled_modified_bessel_k0", (30.0,), 0.22788666561625373),
    ("scaled_modified_bessel_k0", (1000000.0,), 0.0012533139806513212),
    ("i0e", (-14.9,), 0.10425387282429125),
    ("i1e", (-14.9,), -0.10069229881177054),
    ("i0e", (15.1,), 0.10354878120576969),
    ("i1e", (15.1,), 0.10005903226243464),
    ("i0e", (700.0,), 0.015081295651531358),
    ("i1e", (700.0,), 0.015070519444716847),
    ("airy_ai", (-50.0,), -0.16188142361232092),
    ("airy_ai", (-8.1,), -0.14290814709358112),
    ("airy_ai", (-7.9,), 0.041701883617386709),
    ("airy_ai", (-2.0,), 0.22740742820168558),
    ("airy_ai", (0.9,), 0.15188680364054436),
    ("airy_ai", (1.1,), 0.12004942735539766),
    ("airy_ai", (9.0,), 2.4711684308724898e-9),
    ("airy_ai", (100.0,), 2.6344821520881845e-291),
    ("erfcx", (-5.0,), 144009798674.66104),
    ("erfcx", (0.4,), 0.67078778529476151),
    ("erfcx", (3.0,), 0.17900115118138995),
    ("erfcx", (49.0,), 0.011511676863882963),
    ("erfcx", (51.0,), 0.01106041548532772),
    ("erfcx", (100000000.0,), 5.6418958354775626e-9),
    ("gammainc", (1e-08, 0.3), 0.99999999094323347),
    ("gammaincc", (1e-08, 0.3), 9.0567665329594963e-9),
    ("gammainc", (0.01, 1.0), 0.99778376537677201),
    ("gammaincc", (0.01, 1.0), 0.0022162346232279903),
    ("gammainc", (0.5, 1.2), 0.87866474964151785),
    ("gammaincc", (0.5, 1.2), 0.12133525035848215),
    ("gammainc", (3.0, 9.0), 0.99376780489362268),
    ("gammaincc", (3.0, 9.0), 0.0062321951063773172),
    ("gammainc", (30.0, 18.0), 0.0059442778497929486),
    ("gammaincc", (30.0, 18.0), 0.99405572215020705),
    ("gammainc", (500.0, 520.0), 0.8153088509012564),
    ("gammaincc", (500.0, 520.0), 0.1846911490987436),
    ("gammainc", (25000.0, 25100.0), 0.73686877146822723),
    ("gammaincc", (25000.0, 25100.0), 0.26313122853177277),
    ("zeta", (1.01, 0.5), 101.97709317748227),
    ("zeta", (3.0, 0.001), 1000000001.1988161),
    ("zeta", (7.5, 100.0), 1.5890864543711279e-14),
    ("legendre_polynomial_p", (0.3, 60), 0.096110324962457966),
    ("laguerre_polynomial_l", (2.5, 40), 0.56591046218507289),
    ("chebyshev_polynomial_t", (1.001, 2000), 3.4690698465634925e+38),
    ("hermite_polynomial_h", (0.7, 30), -1.765946433195215e+20),
]  # fmt: skip
LOOSE = {"airy_ai": 1e-11, "zeta": 1e-13}  # of a sum of oscillating terms; beside the pole


@pytest.mark.parametrize("name, args, want", CASES)
def test_values(torch, name, args, want):
    got = getattr(torch.special, name)(*(torch.tensor(x, dtype=torch.float64) for x in args)).item()
    assert math.isclose(got, want, rel_tol=LOOSE.get(name, 2e-13), abs_tol=1e-15)


def test_degrees_are_converted_to_integers(torch):
    x = torch.tensor([0.3, 0.3, 0.3])
    for name in torch.special.__all__:
        if "polynomial" in name:
            f = getattr(torch.special, name)
            assert torch.equal(f(x, torch.tensor([-0.5, -1.0, 2.9])), f(x, torch.tensor([0.0, -2.0, 2.0]))), name


def test_quantiles_are_inverse(torch):
    p = torch.tensor([1e-300, 1e-50, 1e-15, 2e-15, 1e-8, 0.02, 0.3, 0.5, 0.9, 1 - 1e-12], dtype=torch.float64)
    assert torch.allclose(torch.special.log_ndtr(torch.special.ndtri(p)), p.log(), rtol=1e-12, atol=1e-12)
    assert torch.special.ndtri(torch.tensor([0.0, 1.0, -1.0, 2.0])).tolist()[:2] == [-math.inf, math.inf]


def test_every_loop_ends(torch):
    """Whatever the operand is."""
    hostile = torch.tensor([0.0, -0.0, 1e-320, 1e-30, 1e30, 1.7e308, math.inf, -math.inf, math.nan, -1e30, 0.999999999], dtype=torch.float64)
    for name in torch.special.__all__:
        f = getattr(torch.special, name)
        if name in ("logsumexp", "softmax", "log_softmax", "multigammaln", "polygamma", "round"):
            continue
        try:
            f(hostile)
        except TypeError:
            f(hostile.unsqueeze(1), hostile)


def test_gradient_by_the_first_argument(torch):
    """PyTorch has none; it is what moves samples of the gamma distribution."""
    a, x = (torch.tensor([0.3, 2.0, 9.0], dtype=torch.float64, requires_grad=True), torch.tensor([0.2, 3.0, 7.0], dtype=torch.float64))
    for f in (torch.igamma, torch.igammac):
        slope, = torch.autograd.grad(f(a, x).sum(), a)
        with torch.no_grad():
            step = 1e-5
            assert torch.allclose(slope, (f(a + step, x) - f(a - step, x)) / (2 * step), rtol=1e-4)
