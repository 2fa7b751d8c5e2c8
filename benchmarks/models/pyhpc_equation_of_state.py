# SPDX-License-Identifier: Apache-2.0
"""The equation of state of sea water, 48 terms (McDougall et al., TEOS-10): density of absolute salinity, conservative
temperature and pressure, and the derivative of its inverse with temperature, which enthalpy needs. TorchBench's is of the
same terms on a grid of the same points. One of its numbers: density(35 g/kg, 25 deg C, 2000 dbar) = 1031.65 kg/m3.
"""

from torch import nn

from _ocean import field, shape

BATCH, TINY_BATCH, PARAMETERS = (1048576, 1048576), 256, 0
# Of the denominator and the numerator of the specific volume, by powers of temperature, then salinity, pressure.
BELOW = {
    "t": (9.998420897506056e2, 2.839940833161907, -3.147759265588511e-2, 1.181805545074306e-3),
    "s": (-6.698001071123802, -2.986498947203215e-2, 2.327859407479162e-4),
    "sr": (-3.988822378968490e-2, 5.095422573880500e-4, -1.426984671633621e-5, 1.645039373682922e-7),
    "p": (-2.233269627352527e-2, -3.436090079851880e-4, 3.726050720345733e-6),
    "sp": (-1.806789763745328e-4, 6.876837219536232e-7),
    "pp": (-3.087032500374211e-7, -1.988366587925593e-8, -1.061519070296458e-11),
    "spp": (1.550932729220080e-10,),
}
ABOVE = {
    "t": (1.0, 2.775927747785646e-3, -2.349607444135925e-5, 1.119513357486743e-6, 6.743689325042773e-10),
    "s": (-7.521448093615448e-3, -2.764306979894411e-5, 1.262937315098546e-7, 9.527875081696435e-10, -1.811147201949891e-11),
    "sr": (-3.303308871386421e-5, 3.801564588876298e-7, -7.672876869259043e-9, -4.634182341116144e-11, 2.681097235569143e-12),
    "ss": (5.419326551148740e-6,),
    "p": (-2.742185394906099e-5, -3.212746477974189e-7, 3.191413910561627e-9, -1.931012931541776e-12),
    "sp": (-1.105097577149576e-7, 6.211426728363857e-10),
    "pp": (-1.119011592875110e-10, -1.941660213148725e-11, -1.864826425365600e-14),
    "spp": (1.119522344879478e-14,),
    "ppp": (-1.200507748551599e-15, 6.057902487546866e-17),
}


def polynomial(terms, t, slope=False):
    """Of temperature by Horner's rule, or its derivative."""
    terms = tuple(i * c for i, c in enumerate(terms))[1:] if slope else terms
    total = 0.0
    for c in reversed(terms):
        total = total * t + c
    return total


def side(table, powers, t, slope):
    return sum(powers[name] * polynomial(terms, t, slope) for name, terms in table.items() if len(terms) > slope)


class Water(nn.Module):
    def forward(self, salinity, temperature, pressure):
        s, t, p = salinity, temperature, pressure
        root = s.sqrt()
        powers = {"t": 1.0, "s": s, "sr": s * root, "ss": s * s, "p": p, "sp": s * p, "pp": p * p, "spp": s * p * p, "ppp": p * p * p}
        below, above = (side(table, powers, t, False) for table in (BELOW, ABOVE))
        of_below, of_above = (side(table, powers, t, True) for table in (BELOW, ABOVE))
        return below / above, (of_above * below - above * of_below) / (below * below)


def model(tiny):
    return Water()


def loss(outputs, targets):
    return outputs[0].mean()


def data(batch, tiny, training):
    size = shape(batch)
    return (field(size, 0.01, 40.0), field(size, -12.0, 20.0), field((1, 1, size[2]), 0.0, 1000.0)), None
