// In the place of templates/sm75/mma.cuh.
#pragma once

#include "products.h"
