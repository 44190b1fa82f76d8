// load_test LIBRARY: the shared library is loaded while the program runs, with its names for this
// program alone and for all, twice under two names, beside another Abseil, and again after it was
// left. No driver is asked for. A handle of one copy is none of another's.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/c/graphtree.h"

static int failures = 0;

static void Expect(int is_so, const char* what) {
  if (is_so) return;
  printf("not so: %s\n", what);
  ++failures;
}
#define EXPECT(condition) Expect(condition, #condition)

// The functions that this test calls, of one copy.
typedef struct Copy {
  void* library;
  gt_error (*open)(const char* name, const gt_device_options* options, gt_device* out);
  gt_error (*stream)(gt_device device, gt_stream* out);
  gt_error (*synchronize)(gt_stream stream);
  gt_error (*release)(void* handle);
  const gt_error_info* (*look)(gt_error error);
  size_t (*live)(void);
  gt_device device;
  gt_stream its;
} Copy;

// A function's address, which C knows no way to get from an object's.
static void Find(void* library, const char* name, void* into) {
  void* found = dlsym(library, name);
  Expect(found != NULL, name);
  memcpy(into, &found, sizeof(found));
}

static Copy Load(const char* path, int flags) {
  Copy copy;
  memset(&copy, 0, sizeof(copy));
  copy.library = dlopen(path, RTLD_NOW | flags);
  if (copy.library == NULL) {
    printf("%s\n", dlerror());
    exit(1);
  }
  Find(copy.library, "gt_device_open", &copy.open);
  Find(copy.library, "gt_stream_new", &copy.stream);
  Find(copy.library, "gt_stream_synchronize", &copy.synchronize);
  Find(copy.library, "gt_release", &copy.release);
  Find(copy.library, "gt_error_look", &copy.look);
  Find(copy.library, "gt_live_handles", &copy.live);
  EXPECT(copy.open("host", NULL, &copy.device) == NULL);
  EXPECT(copy.stream(copy.device, &copy.its) == NULL);
  EXPECT(copy.synchronize(copy.its) == NULL);
  return copy;
}

static void Leave(Copy* copy) {
  EXPECT(copy->release(copy->its) == NULL);
  EXPECT(copy->release(copy->device) == NULL);
  EXPECT(copy->live() == 0);
  EXPECT(dlclose(copy->library) == 0);
}

static void CopyFile(const char* from, const char* to) {
  char buffer[1 << 16];
  FILE* in = fopen(from, "rb");
  FILE* out = fopen(to, "wb");
  size_t read = 0;
  if (in == NULL || out == NULL) exit(1);
  while ((read = fread(buffer, 1, sizeof(buffer), in)) > 0) fwrite(buffer, 1, read, out);
  fclose(in);
  fclose(out);
}

// The system's own, with its names for all: they are what ours has inside. How many there are.
static int LoadAbseil(void) {
  const char* names[] = {"base", "strings", "status", "synchronization", "raw_hash_set", "cord"};
  int loaded = 0;
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
    char file[64];
    snprintf(file, sizeof(file), "libabsl_%s.so.20220623", names[i]);
    loaded += dlopen(file, RTLD_NOW | RTLD_GLOBAL) != NULL;
  }
  return loaded;
}

static double Milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  char folder[] = "/tmp/graphtree_load_XXXXXX";
  char other[64];
  EXPECT(mkdtemp(folder) != NULL);
  snprintf(other, sizeof(other), "%s/libother.so", folder);
  CopyFile(argv[1], other);

  const double before = Milliseconds();
  void* first = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  printf("loaded in %.1f ms\n", Milliseconds() - before);
  EXPECT(first != NULL);
  EXPECT(dlsym(RTLD_DEFAULT, "gt_version_string") == NULL);
  printf("%d libraries of another Abseil\n", LoadAbseil());

  Copy local = Load(argv[1], RTLD_LOCAL);
  Copy global = Load(other, RTLD_GLOBAL);
  EXPECT(dlsym(RTLD_DEFAULT, "gt_version_string") != NULL);
  EXPECT(local.live != global.live);
  EXPECT(local.live() == 2);
  EXPECT(global.live() == 2);
  // Each refuses the other's.
  gt_error error = global.synchronize(local.its);
  EXPECT(error != NULL && global.look(error)->code == GT_BAD_HANDLE);
  EXPECT(strstr(global.look(error)->text, "another copy's") != NULL);
  EXPECT(local.look(error)->code == GT_BAD_HANDLE);
  gt_error refusal = local.release(error);
  EXPECT(refusal != NULL);
  EXPECT(local.release(refusal) == NULL);
  EXPECT(global.release(error) == NULL);
  Leave(&global);

  EXPECT(local.synchronize(local.its) == NULL);
  // No driver is needed, and where there is none the answer says so.
  gt_device gpu = NULL;
  error = local.open("cuda:0", NULL, &gpu);
  if (error == NULL) {
    EXPECT(local.release(gpu) == NULL);
  } else {
    printf("no GPU: %s\n", local.look(error)->text);
    EXPECT(local.release(error) == NULL);
  }
  EXPECT(local.live() == 2);
  Leave(&local);
  EXPECT(dlclose(first) == 0);
  Copy again = Load(argv[1], RTLD_LOCAL);
  Leave(&again);
  unlink(other);
  rmdir(folder);
  printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
