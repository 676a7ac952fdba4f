/* A tree's memory: blocks that are freed, and if need be wiped, all at once. */
#include "secret/secret.h"
#include "yaml/yaml.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_SIZE = 1 << 16 };

struct tree_block {
  struct tree_block *next;
  size_t used, size;
  max_align_t bytes[];
};

void *tree_allocate(struct tree *tree, size_t size) {
  size = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
  struct tree_block *block = tree->blocks;
  if (block == NULL || block->size - block->used < size) {
    size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;
    block = malloc(sizeof *block + room);
    if (block == NULL) {
      return NULL;
    }
    block->next = tree->blocks;
    block->used = 0;
    block->size = room;
    tree->blocks = block;
  }
  void *result = (char *)block->bytes + block->used;
  block->used += size;
  return result;
}

void tree_free(struct tree *tree) {
  while (tree->blocks != NULL) {
    struct tree_block *next = tree->blocks->next;
    if (tree->wipe) {
      rtl_wipe(tree->blocks->bytes, tree->blocks->used);
    }
    free(tree->blocks);
    tree->blocks = next;
  }
  free(tree->documents);
  free(tree->warnings);
  memset(tree, 0, sizeof *tree);
}
