"""Score a search engine against a graded dataset:

    python src/scorer.py --search-module path.to.my_engine --dataset eval/dataset.json
    python src/scorer.py --search-module path.to.my_engine --dataset eval/dataset.json \
        --output results.json

The module is found from the current folder. This is `assay score`, with all of its options.
"""

import sys

try:
    from assay.cli import main
except ModuleNotFoundError:
    sys.stderr.write(
        "Assay is not installed for this Python: run pip install . in the folder of its "
        "repository.\n"
    )
    sys.exit(2)

if __name__ == "__main__":
    sys.argv[1:] = ["score", *sys.argv[1:]]
    main()
