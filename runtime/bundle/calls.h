// Which calls a bucket holds, in a bundle's manifest.
#pragma once

#include "compiler/program/bucket.h"
#include "runtime/bundle/fields.h"

namespace fa {

/// `{"ctas": {"least": 0, "most": 66}}`: the bounds that there are; without `most` there is no end.
nlohmann::json print_calls(const Bucket& bucket);

/// Throws BundleError where it is none that Facet writes.
Bucket parse_calls(Fields fields);

}  // namespace fa
