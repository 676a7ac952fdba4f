# `make fuzz`: each target for FUZZ_SECONDS under libFuzzer with the address and undefined behaviour
# sanitizers, from the seeds in test/fuzz/seeds. Inputs found stay in $(BUILD)/fuzz/corpus; one that
# fails is left beside them and named.
FUZZ_SECONDS ?= 60
FUZZ_TARGETS := json yaml xml websocket archive
FUZZ_FLAGS   := -std=c11 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
                -fno-omit-frame-pointer

FUZZ_json      := modules/json/scan.c modules/json/print.c
FUZZ_yaml      := $(addprefix modules/yaml/,memory.c prepare.c parse.c resolve.c \
                    write.c) \
                  modules/json/scan.c modules/json/print.c modules/crypto/base64.c \
                  modules/secret/secret.c
FUZZ_xml       := $(addprefix modules/xml/,xml.c guard.c libxml.c) modules/secret/secret.c
FUZZ_websocket := modules/websocket/websocket.c modules/http/buffer.c modules/secret/secret.c
FUZZ_archive   := $(addprefix modules/archive/,gzip.c tar.c names.c)
FUZZ_LIBS      := -lcjson -lyaml -lwslay -larchive -lz -ldl

fuzz-build: $(FUZZ_TARGETS:%=$(BUILD)/fuzz/%)

define FUZZ_RULE
$(BUILD)/fuzz/$(1): test/fuzz/$(1).c $(FUZZ_$(1)) $(wildcard modules/*/*.h)
	@mkdir -p $$(@D)
	clang $(FUZZ_FLAGS) $(MODCPPFLAGS) -o $$@ test/fuzz/$(1).c $(FUZZ_$(1)) $(FUZZ_LIBS)
endef
$(foreach target,$(FUZZ_TARGETS),$(eval $(call FUZZ_RULE,$(target))))

fuzz: fuzz-build
	FUZZ_BUILD=$(BUILD)/fuzz FUZZ_SECONDS=$(FUZZ_SECONDS) bash test/fuzz/run.sh $(FUZZ_TARGETS)
.PHONY: fuzz-build
