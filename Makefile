# A stub while the folders are built: the whole file is written with the packaging.
links:
	@.venv/bin/pip install -q --no-deps --no-build-isolation -e . -C editable_mode=strict
