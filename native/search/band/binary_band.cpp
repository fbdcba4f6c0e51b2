#include "search/band/band.hpp"
#include "search/band/band_codes.hpp"
#include "search/pattern_pieces.hpp"

namespace segauge {

BitVolume boundary_band(const BitVolume& mask, SurfaceKind kind, const CellPatterns& patterns, double width,
                        int threads) {
  BandBits bits = band_bits(mask, kind, patterns, width);
  if (bits.open.count() == 0) return std::move(bits.sure);
  const auto span = steps_within(mask, patterns, width);
  if (kind == SurfaceKind::marching_cubes && BandCodes::can_hold(span, mask.ndim))
    return search_open(std::move(bits), threads, [&]() -> Reaches {
      return [codes = BandCodes(mask, patterns, span, width)](int64_t z, int64_t y, int64_t x) mutable {
        return codes.reaches(z, y, x);
      };
    });
  const CellGrid surface = find_cells(mask, nullptr, kind, patterns, threads);
  const BrickTree tree(surface);
  CellBlocks blocks(surface, patterns);
  return search_open(std::move(bits), threads, [&]() -> Reaches {
    return on_lattice(kind, mask.ndim,
                      [width, search = Search(surface, tree, blocks, patterns, PatternPieces(surface, patterns))](
                          int64_t z, int64_t y, int64_t x) mutable { return search.reaches(z, y, x, width * width); });
  });
}

}  // namespace segauge
