# setup, install, bundle: how rtl and what it needs get onto a machine.

setup:
	sh vendor/setup.sh

install: all
	install -D -m 755 $(BUILD)/rtl $(DESTDIR)$(PREFIX)/bin/rtl

# The libraries that a bare Linux lacks, beside a copy of the binary that looks for them in its own
# folder ($$ORIGIN). libc, its parts and the dynamic linker stay the system's.
BUNDLE := $(BUILD)/bundle/rtl-$(VERSION)
bundle: all
	rm -rf $(BUNDLE) && mkdir -p $(BUNDLE)
	bash vendor/bundle.sh $(BUILD)/rtl $(BUNDLE)
	tar -C $(BUILD)/bundle -czf $(BUILD)/bundle/rtl-$(VERSION).tar.gz rtl-$(VERSION)
	@echo $(BUILD)/bundle/rtl-$(VERSION).tar.gz
