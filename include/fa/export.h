// What a program sees of libfacet.so: everything that these headers declare, and nothing else.
#pragma once

/// Stands in `namespace fa FA_API {` of each public header. The library is compiled with hidden symbols.
#if defined(__GNUC__)
#define FA_API __attribute__((visibility("default")))
#else
#define FA_API
#endif
