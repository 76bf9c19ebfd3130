"""Score a search engine against a graded dataset:

    python src/scorer.py --search-module path.to.my_engine --dataset eval/dataset.json
    python src/scorer.py --search-module path.to.my_engine --dataset eval/dataset.json \
        --output results.json

The module is found from the current folder. This is `assay score`, with all of its options.
"""

import sys

from assay.cli import main

if __name__ == "__main__":
    sys.argv[1:] = ["score", *sys.argv[1:]]
    main()
