"""What to cite for a metric or a method: written once, collected by what a result used."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from segauge.scores import MetricInfo


@dataclass(frozen=True)
class Reference:
    """One work to cite; `doi` is "" where it has none."""

    key: str
    text: str
    doi: str = ""


_ALL = (
    Reference(
        "dice1945",
        "Dice LR. Measures of the amount of ecologic association between species. Ecology 1945;26:297-302.",
        "10.2307/1932409",
    ),
    Reference(
        "huttenlocher1993",
        "Huttenlocher DP, Klanderman GA, Rucklidge WJ. Comparing images using the Hausdorff distance. "
        "IEEE Trans Pattern Anal Mach Intell 1993;15:850-863.",
        "10.1109/34.232073",
    ),
    Reference(
        "heimann2009",
        "Heimann T, van Ginneken B, Styner M, et al. Comparison and evaluation of methods for liver segmentation from "
        "CT datasets. IEEE Trans Med Imaging 2009;28:1251-1265.",
        "10.1109/TMI.2009.2013851",
    ),
    Reference(
        "nikolov2021",
        "Nikolov S, Blackwell S, Zverovitch A, et al. Clinically applicable segmentation of head and neck anatomy for "
        "radiotherapy: deep learning algorithm development and validation study. J Med Internet Res 2021;23:e26151.",
        "10.2196/26151",
    ),
    Reference(
        "cheng2021",
        "Cheng B, Girshick R, Dollár P, Berg AC, Kirillov A. Boundary IoU: improving object-centric image segmentation "
        "evaluation. CVPR 2021:15334-15342.",
    ),
    Reference(
        "shit2021",
        "Shit S, Paetzold JC, Sekuboyina A, et al. clDice: a novel topology-preserving loss function for tubular "
        "structure segmentation. CVPR 2021:16560-16569.",
    ),
    Reference(
        "kirillov2019",
        "Kirillov A, He K, Girshick R, Rother C, Dollár P. Panoptic segmentation. CVPR 2019:9404-9413.",
    ),
    Reference(
        "maierhein2024",
        "Maier-Hein L, Reinke A, Godau P, et al. Metrics reloaded: recommendations for image analysis validation. "
        "Nat Methods 2024;21:195-212.",
        "10.1038/s41592-023-02151-z",
    ),
    Reference(
        "brown2001",
        "Brown LD, Cai TT, DasGupta A. Interval estimation for a binomial proportion. Statist Sci 2001;16:101-133.",
        "10.1214/ss/1009213286",
    ),
    Reference(
        "hall1988",
        "Hall P. Theoretical comparison of bootstrap confidence intervals. Ann Statist 1988;16:927-953.",
        "10.1214/aos/1176350933",
    ),
    Reference(
        "bland1999",
        "Bland JM, Altman DG. Measuring agreement in method comparison studies. Stat Methods Med Res 1999;8:135-160.",
        "10.1177/096228029900800204",
    ),
    Reference(
        "romano2005",
        "Romano JP, Wolf M. Exact and approximate stepdown methods for multiple hypothesis testing. "
        "J Am Stat Assoc 2005;100:94-108.",
        "10.1198/016214504000000539",
    ),
    Reference(
        "demsar2006",
        "Demšar J. Statistical comparisons of classifiers over multiple data sets. J Mach Learn Res 2006;7:1-30.",
    ),
    Reference(
        "wiesenfarth2021",
        "Wiesenfarth M, Reinke A, Landman BA, et al. Methods and open-source toolkit for analyzing and visualizing "
        "challenge results. Sci Rep 2021;11:2369.",
        "10.1038/s41598-021-82017-6",
    ),
)

#: Keys of metrics (as patterns) and what introduced them.
_OF_METRICS = (
    (r"dice", "dice1945"),
    (r"hd[0-9.]*", "huttenlocher1993"),
    (r"assd|masd", "heimann2009"),
    (r"nsd(@.*)?", "nikolov2021"),
    (r"biou(@.*)?", "cheng2021"),
    (r"centerline_dice|cldice", "shit2021"),
    (r"pq|sq", "kirillov2019"),
)
_OF_INTERVALS = {"jeffreys": "brown2001", "bootstrap-t": "hall1988"}


def references_for(
    metrics: Iterable[MetricInfo], interval_methods: Iterable[str], *, others: Iterable[str] = ()
) -> tuple[Reference, ...]:
    """Return what to cite for these metrics and interval methods, in the order of the list above."""
    wanted = {"maierhein2024", *others}
    for info in metrics:
        wanted |= {key for pattern, key in _OF_METRICS if re.fullmatch(pattern, info.key)}
    wanted |= {_OF_INTERVALS[method] for method in interval_methods if method in _OF_INTERVALS}
    return tuple(reference for reference in _ALL if reference.key in wanted)
