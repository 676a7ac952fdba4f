# rtl: one binary, built from host/ (the program), modules/ (native, C) and lua/ + recipes/
# (embedded).  `make help` lists the targets.

VERSION  := 0.1.0
BUILD    ?= build
CC       ?= gcc
LUA      ?= lua5.4
LIBDIR   := $(shell $(CC) -print-multiarch)
ARCHIVES := /usr/lib/$(LIBDIR)
PREFIX   ?= /usr/local

# What each group of warnings is for is said in vendor/README.md; all of them are errors.
WARNINGS := -Wall -Wextra -Werror -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
            -Wpointer-arith -Wcast-qual -Wwrite-strings -Wformat=2 -Wundef -Wvla
CFLAGS   ?= -O2 -g
CPPFLAGS += -D_GNU_SOURCE -DRTL_VERSION='"$(VERSION)"' -Imodules
MODCPPFLAGS := $(CPPFLAGS) -I$(BUILD) -I/usr/include/libxml2
LUACPPFLAGS := $(CPPFLAGS) -I/usr/include/lua5.4 -I$(BUILD) -Ihost
CSTD     := -std=c11 -fPIC -fvisibility=hidden -fstack-protector-strong
ifdef SANITIZE
CSTD     += -fsanitize=$(SANITIZE) -fno-omit-frame-pointer
LDFLAGS  += -fsanitize=$(SANITIZE)
endif

# A static archive where the system has one (it keeps start-up short), else the shared library.
pick      = $(if $(wildcard $(ARCHIVES)/lib$(1).a),$(ARCHIVES)/lib$(1).a,-l$(1))
LIBS     := -Wl,--whole-archive $(call pick,lua5.4) -Wl,--no-whole-archive \
            $(call pick,yaml) $(call pick,archive) $(call pick,z) \
            $(call pick,edit) $(call pick,bsd) $(call pick,md) $(call pick,tinfo) \
            -lcjson -lwslay -ldl -lm -lpthread

MODULES  := $(sort $(notdir $(patsubst %/,%,$(wildcard modules/*/))))
HOST_SRC := $(wildcard host/*.c)
MOD_SRC  := $(filter-out %_main.c,$(wildcard modules/*/*.c))
# A binding is modules/NAME/lNAME.c, with parts lNAME_*.c if it is long; everything else in modules/
# is pure C, built without Lua's headers.
BINDINGS := $(foreach m,$(MODULES),$(wildcard modules/$(m)/l$(m).c))
BIND_SRC := $(BINDINGS) $(foreach m,$(MODULES),$(wildcard modules/$(m)/l$(m)_*.c))
PURE     := $(filter-out $(BIND_SRC),$(MOD_SRC))
OBJ      := $(HOST_SRC:%.c=$(BUILD)/%.o) $(MOD_SRC:%.c=$(BUILD)/%.o) $(BUILD)/host/embed.o
TEXTS    := $(wildcard host/*.txt)
READMES  := $(MODULES:%=modules/%/README.md)
EMBEDDED := $(shell find lua recipes -type f 2>/dev/null) $(TEXTS)

.PHONY: all help clean setup rehearse test fault weather lab bench check fuzz install bundle
all: $(BUILD)/rtl

help:
	@echo "make            build $(BUILD)/rtl"
	@echo "make setup      install what is missing (root or sudo), build, run the rehearsed deploy"
	@echo "make rehearse   the rehearsed deploy and teardown"
	@echo "make test       unit, vectors, contract, cli, fault and documentation tests"
	@echo "make fault      the faults of make test, at every call instead of some"
	@echo "make weather    ten thousand deployments in bad weather (SEEDS=N)"
	@echo "make lab        the same recipes against a real Kubernetes with KubeRay and Ray"
	@echo "make check      sanitizers, aggressive collector, valgrind, luacheck, structure"
	@echo "make fuzz       libFuzzer targets   make bench    figures beside their peers"
	@echo "make bundle     rtl with its shared libraries, for a machine where nothing can be installed"
	@echo "make install    into PREFIX (/usr/local)"

$(BUILD)/rtl: $(OBJ)
	$(CC) $(LDFLAGS) -Wl,-E -Wl,-z,relro -Wl,-z,noexecstack -o $@ $(OBJ) $(LIBS)

$(BUILD)/host/%.o: host/%.c $(BUILD)/natives.h
	@mkdir -p $(@D)
	$(CC) $(CSTD) $(WARNINGS) $(CFLAGS) $(LUACPPFLAGS) -MMD -MP -c -o $@ $<

$(PURE:%.c=$(BUILD)/%.o): $(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CSTD) $(WARNINGS) $(CFLAGS) $(MODCPPFLAGS) -MMD -MP -c -o $@ $<

$(BIND_SRC:%.c=$(BUILD)/%.o): $(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CSTD) $(WARNINGS) $(CFLAGS) $(LUACPPFLAGS) -MMD -MP -c -o $@ $<

# The list of native modules is the list of bindings; host/searcher.c includes it.
$(BUILD)/natives.h: $(BINDINGS) Makefile
	@mkdir -p $(@D)
	@for m in $(patsubst modules/%/,%,$(dir $(BINDINGS))); do echo "RTL_NATIVE($$m)"; done >$@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

# lua/ as bytecode that keeps its line numbers, recipes/ as the text that people fork.
$(BUILD)/embedded.bin: host/pack.lua $(EMBEDDED) $(BIND_SRC) $(READMES)
	@mkdir -p $(@D)
	$(LUA) host/pack.lua $@ lua recipes $(TEXTS) $(BIND_SRC) $(READMES)

$(BUILD)/host/embed.o: host/embed.S $(BUILD)/embedded.bin
	@mkdir -p $(@D)
	$(CC) -c -I$(BUILD) -o $@ $<

-include $(OBJ:.o=.d)

rehearse: all
	$(BUILD)/rtl --rehearse recipes/deploy.lua
	$(BUILD)/rtl --rehearse recipes/teardown.lua

clean:
	rm -rf build

# Each of these is one file of its own, so that this one stays readable in one sitting.
-include $(wildcard vendor/*.mk test/*.mk)
