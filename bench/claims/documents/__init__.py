"""What the five documents claim, in our own words."""

from bench.claims.documents.document1 import DOCUMENT as _FIRST
from bench.claims.documents.document2 import DOCUMENT as _SECOND
from bench.claims.documents.document3 import DOCUMENT as _THIRD
from bench.claims.documents.document4 import DOCUMENT as _FOURTH
from bench.claims.documents.document5 import DOCUMENT as _FIFTH

DOCUMENTS = (_FIRST, _SECOND, _THIRD, _FOURTH, _FIFTH)
