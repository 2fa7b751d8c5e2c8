# Nothing to set: see fragments/README.md.
