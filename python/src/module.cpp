// facet._core: what the Python package facet calls. Users see it through the classes of facet/*.py.
#include "python/src/bind.h"

NB_MODULE(_core, module) {
  using namespace fa::python;
  bind_errors(module);
  bind_spec(module);
  bind_view(module);
  bind_captured(module);
  bind_kernel(module);
  bind_repeated(module);
  bind_explain(module);
}
