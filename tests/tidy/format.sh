#!/usr/bin/env bash
# Every C++ file is formatted as .clang-format says. format.sh ROOT; 77 (skipped) without
# clang-format 14, since other versions format differently.
set -euo pipefail

cd -- "$1"
tool=$(command -v clang-format-14 || true)
if [[ -z $tool ]]; then
  echo "skipped: no clang-format-14 here"
  exit 77
fi

unformatted=()
while IFS= read -r -d '' file; do
  "$tool" --style=file "$file" | cmp -s - "$file" || unformatted+=("$file")
done < <(find include src tests bench examples \( -name '*.h' -o -name '*.cc' \) -print0 | sort -z)
if ((${#unformatted[@]})); then
  echo "not as .clang-format says; mend it by: clang-format-14 -i ${unformatted[*]}"
  exit 1
fi
