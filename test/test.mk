# Tests: what each group holds is said in test/README.md.

test: all
	bash test/all.sh unit contract cli fault

check: all
	bash test/check/check.sh

lab: all
	bash test/lab/test.sh

bench: all
	bash test/bench/bench.sh
