// Gives each route the objects that it needs.
#include "graphs/run/routes.h"

namespace graphtree {

Routes::Routes(Entrance& entrance, Ground& ground, Books& books, CallJournal& journal,
               Functions& functions, CheckedMode& checks, Matcher& matcher)
    : kept_(ground, books),
      executables_(ground, journal, functions.keeper()),
      launcher_(ground, journal, executables_),
      body_(ground, entrance),
      why_(ground, books, functions, matcher),
      replay_check_(ground, books, journal, checks, functions.keeper(), body_),
      misses_(ground, books, functions, matcher),
      notes_(books, journal, functions),
      replayer_({ground, entrance, books, journal, checks, functions.keeper(), executables_, kept_,
                 matcher, launcher_, replay_check_}),
      eager_({ground, entrance, books, journal, checks, functions, kept_, body_, why_}),
      recorder_({ground, books, journal, checks, functions, executables_, kept_, launcher_, body_},
                entrance),
      parity_(ground, books, functions.keeper(), body_, replayer_) {}

}  // namespace graphtree
