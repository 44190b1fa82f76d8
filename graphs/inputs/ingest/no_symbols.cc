// The symbols of a build without CUDA: none.
#include "graphs/inputs/ingest/ingest_symbols.h"

namespace graphtree {

IngestSymbols LinkedIngestKernels() { return {}; }

}  // namespace graphtree
