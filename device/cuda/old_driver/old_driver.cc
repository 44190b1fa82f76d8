// What the CUDA Runtime finds of a driver that is too old for it: a version and nothing else.
extern "C" int cuInit(unsigned) { return 0; }

extern "C" int cuDriverGetVersion(int* version) {
  *version = 11040;
  return 0;
}
