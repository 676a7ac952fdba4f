/* The packed lua/ and recipes/ (written by host/pack.lua), readable at rtl_embedded. */
        .section .rodata
        .global rtl_embedded
        .global rtl_embedded_end
        .balign 16
rtl_embedded:
        .incbin "embedded.bin"
rtl_embedded_end:
        .byte 0
        .section .note.GNU-stack,"",@progbits
