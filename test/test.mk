# Tests: what each group holds is said in test/README.md.

test: all
	bash test/all.sh unit contract cli fault

check: all
	bash test/check/check.sh

# Every call that a death can follow, not only some of them: about ten minutes.
fault: all
	RTL_TEST_SLOW=1 bash test/all.sh fault

# Ten thousand lives in as many weathers, on all cores: about an hour of each of two.
weather: all
	build/rtl test/fault/weather.lua --seeds $(or $(SEEDS),10000) --jobs $$(nproc)

lab: all
	bash test/lab/test.sh

bench: all
	bash test/bench/bench.sh
