#include "runtime/store/trust.h"

#include <unistd.h>

namespace fa {

std::string others_in(const struct stat& status) {
  if (status.st_uid != geteuid() && status.st_uid != 0) return "belongs to another user";
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "others may write to it";
  return {};
}

}  // namespace fa
