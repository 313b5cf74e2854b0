/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which rank has which elements, synthesised at any size. The rules are those by which the models
 * deal out their grids; meshes and coasts are invented, but cut up like the real ones. */
#include <stdlib.h>
#include <string.h>

#include "base/mix.h"
#include "workloads/climate/climate.h"

enum {
    ELEMENT_COLUMNS = 9, /* that an element of the F case's grid has for itself */
    FACES = 6,           /* of its cube */
    CHUNKS = 4,          /* of columns, per rank */
    SEGMENTS = 40,       /* of land, per rank */
    CLUMPS = 2,          /* of segments, per rank */
};

/* Levels of the I case's maps. */
static const uint64_t land_levels[] = {1, 15, 10, 9, 17};

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

static uint64_t root_up(uint64_t n)
{
    uint64_t r = 1;

    while (r * r < n)
        r++;
    return r;
}

int tt_climate_map_add(struct tt_climate_map *m, uint64_t start, uint64_t length,
                       struct tt_error *e)
{
    if (m->nruns == m->capacity) {
        size_t capacity = m->capacity ? 2 * m->capacity : 64;
        struct tt_run *grown = realloc(m->runs, capacity * sizeof *grown);

        if (!grown)
            return tt_fail_nomem(e, "a list of requests");
        m->runs = grown;
        m->capacity = capacity;
    }
    m->runs[m->nruns++] = (struct tt_run){start, length};
    m->elements += length;
    return TT_OK;
}

static int by_start(const void *a, const void *b)
{
    const struct tt_run *x = a, *y = b;

    return (x->start > y->start) - (x->start < y->start);
}

static void sort(struct tt_climate_map *m)
{
    if (m->nruns > 1)
        qsort(m->runs, m->nruns, sizeof *m->runs, by_start);
}

/* Of sorted requests. */
static void merge_neighbours(struct tt_climate_map *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->nruns; i++)
        if (n > 0 && m->runs[n - 1].start + m->runs[n - 1].length == m->runs[i].start)
            m->runs[n - 1].length += m->runs[i].length;
        else
            m->runs[n++] = m->runs[i];
    m->nruns = n;
}

/* ---- Hilbert's curve over a grid with row-major cells ---- */

struct grid {
    uint64_t width, cells; /* the last row may be short */
    int64_t stretch;       /* how wide a cell is, if it is 1 high */
};

/* A square: a corner, and the sides that begin there. */
struct square {
    int64_t x, y, ux, uy, vx, vy, size;
};

static struct square whole(const struct grid *g)
{
    uint64_t height = divide_up(g->cells, g->width);
    int64_t size = 1;

    while (size < (int64_t)g->width * g->stretch || size < (int64_t)height)
        size *= 2;
    return (struct square){0, 0, 0, size, size, 0, size};
}

/* The quarters of a square, in the order of the curve. */
static struct square quarter(const struct square *s, int i)
{
    int64_t ux = s->ux / 2, uy = s->uy / 2, vx = s->vx / 2, vy = s->vy / 2, half = s->size / 2;

    switch (i) {
    case 0:
        return (struct square){s->x, s->y, vx, vy, ux, uy, half};
    case 1:
        return (struct square){s->x + ux, s->y + uy, ux, uy, vx, vy, half};
    case 2:
        return (struct square){s->x + ux + vx, s->y + uy + vy, ux, uy, vx, vy, half};
    default:
        return (struct square){s->x + ux + 2 * vx, s->y + uy + 2 * vy, -vx, -vy, -ux, -uy, half};
    }
}

static void corner(const struct square *s, int64_t *x, int64_t *y)
{
    int64_t across = s->ux + s->vx, down = s->uy + s->vy;

    *x = across < 0 ? s->x + across : s->x;
    *y = down < 0 ? s->y + down : s->y;
}

static uint64_t common(int64_t from, int64_t to, uint64_t end)
{
    uint64_t first = (uint64_t)from, last = (uint64_t)to < end ? (uint64_t)to : end;

    return last > first ? last - first : 0;
}

/* Cells of the grid whose left edge is in the square. */
static uint64_t cells_in(const struct grid *g, const struct square *s)
{
    uint64_t full = g->cells / g->width, n;
    int64_t x, y, from, to;

    corner(s, &x, &y);
    from = (x + g->stretch - 1) / g->stretch;
    to = (x + s->size + g->stretch - 1) / g->stretch;
    n = common(from, to, g->width) * common(y, y + s->size, full);
    if (y <= (int64_t)full && (int64_t)full < y + s->size)
        n += common(from, to, g->cells % g->width);
    return n;
}

/* Cells first to last - 1 of the curve; *at counts those that were passed. */
static int list_cells(const struct grid *g, const struct square *s, uint64_t first, uint64_t last,
                      uint64_t *at, struct tt_climate_map *out, struct tt_error *e)
{
    uint64_t n = cells_in(g, s);
    int64_t x, y;
    int rc = TT_OK;

    if (n == 0 || *at + n <= first || *at >= last) {
        *at += n;
        return TT_OK;
    }
    if (s->size == 1) {
        corner(s, &x, &y);
        ++*at;
        return tt_climate_map_add(out, (uint64_t)y * g->width + (uint64_t)(x / g->stretch), 1, e);
    }
    for (int i = 0; i < 4 && rc == TT_OK; i++) {
        struct square part = quarter(s, i);

        rc = list_cells(g, &part, first, last, at, out, e);
    }
    return rc;
}

/* Where on the curve a cell is. */
static uint64_t position(const struct grid *g, uint64_t cell)
{
    int64_t cx = (int64_t)(cell % g->width) * g->stretch, cy = (int64_t)(cell / g->width), x, y;
    struct square s = whole(g);
    uint64_t at = 0;

    while (s.size > 1)
        for (int i = 0; i < 4; i++) {
            struct square part = quarter(&s, i);

            corner(&part, &x, &y);
            if (cx >= x && cx < x + part.size && cy >= y && cy < y + part.size) {
                s = part;
                break;
            }
            at += cells_in(g, &part);
        }
    return at;
}

/* ---- F: an atmosphere on a cube of spectral elements ---- */

/* The dynamics: elements along the curve on each face, each with nine columns in a row. */
static int list_elements(const struct tt_climate_mesh *m, uint64_t rank, struct tt_climate_map *out,
                         struct tt_error *e)
{
    uint64_t columns = m->options->columns;
    uint64_t elements = columns > ELEMENT_COLUMNS ? columns / ELEMENT_COLUMNS : 1;
    uint64_t side = root_up(elements / FACES);
    uint64_t faces = side * side * FACES == elements ? FACES : 1;
    uint64_t first = elements * rank / m->ranks, last = elements * (rank + 1) / m->ranks, at = 0;
    struct grid g = {faces > 1 ? side : root_up(elements), elements / faces, 1};
    struct square all = whole(&g);
    int rc = TT_OK;

    for (uint64_t f = 0; f < faces && rc == TT_OK; f++) {
        size_t before = out->nruns;

        rc = list_cells(&g, &all, first, last, &at, out, e);
        for (size_t i = before; i < out->nruns; i++)
            out->runs[i].start += f * g.cells;
    }
    out->elements = 0;
    for (size_t i = 0; i < out->nruns; i++) { /* the poles belong to the last element */
        struct tt_run *r = &out->runs[i];
        bool is_last = r->start + 1 == elements;

        r->start *= ELEMENT_COLUMNS;
        r->length = is_last ? columns - r->start : ELEMENT_COLUMNS;
        out->elements += r->length;
    }
    sort(out);
    merge_neighbours(out);
    return rc;
}

/* The physics: columns are dealt to chunks one by one, to balance day and night. */
static int list_chunks(const struct tt_climate_mesh *m, uint64_t levels, uint64_t rank,
                       struct tt_climate_map *out, struct tt_error *e)
{
    uint64_t columns = m->options->columns, chunks = CHUNKS * m->ranks;
    int rc = TT_OK;

    for (uint64_t chunk = rank; chunk < chunks; chunk += m->ranks)
        for (uint64_t l = 0; l < levels; l++)
            for (uint64_t c = chunk; c < columns && rc == TT_OK; c += chunks)
                rc = tt_climate_map_add(out, l * columns + c, 1, e);
    return rc;
}

/* ---- G: an ocean on an unstructured mesh of cells, edges and vertices ---- */

/* Two thirds of the ranks' borders run along rows, so a row has short pieces. */
static struct grid ocean(const struct tt_climate_options *o)
{
    return (struct grid){root_up(divide_up(o->cells, 2)), o->cells, 2};
}

static int list_ocean_cells(const struct tt_climate_mesh *m, uint64_t rank,
                            struct tt_climate_map *out, struct tt_error *e)
{
    struct grid g = ocean(m->options);
    struct square all = whole(&g);
    uint64_t at = 0;
    int rc = list_cells(&g, &all, g.cells * rank / m->ranks, g.cells * (rank + 1) / m->ranks, &at,
                        out, e);

    sort(out);
    return rc;
}

/* n entities are numbered cell by cell: those of a cell begin here. */
static uint64_t first_of_cell(const struct tt_climate_options *o, uint64_t n, uint64_t cell)
{
    return divide_up(cell * n, o->cells);
}

/* Edges of the rank's cells, from the last to the first; each by itself, or two that follow. */
static int list_edges(const struct tt_climate_mesh *m, uint64_t rank, bool pairs,
                      struct tt_climate_map *out, struct tt_error *e)
{
    const struct tt_climate_options *o = m->options;
    struct tt_climate_map cells = {0};
    int rc = list_ocean_cells(m, rank, &cells, e);

    for (size_t i = cells.nruns; i-- > 0 && rc == TT_OK;) {
        uint64_t first = first_of_cell(o, o->edges, cells.runs[i].start);
        uint64_t end = first_of_cell(o, o->edges, cells.runs[i].start + 1), n;

        for (; end > first && rc == TT_OK; end -= n) {
            n = pairs && end - first > 2 ? 2 : 1;
            rc = tt_climate_map_add(out, end - n, n, e);
        }
    }
    tt_climate_map_free(&cells);
    return rc;
}

/* A vertex belongs to the lowest rank that has a cell at or beside it, so low ranks have more. */
static uint64_t vertex_owner(const struct tt_climate_mesh *m, const struct grid *g, uint64_t cell)
{
    uint64_t x = cell % g->width, lowest = position(g, cell), p;

    if (x + 1 < g->width && cell + 1 < g->cells && (p = position(g, cell + 1)) < lowest)
        lowest = p;
    if (x > 0 && (p = position(g, cell - 1)) < lowest)
        lowest = p;
    if (cell + g->width < g->cells && (p = position(g, cell + g->width)) < lowest)
        lowest = p;
    if (cell >= g->width && (p = position(g, cell - g->width)) < lowest)
        lowest = p;
    return ((lowest + 1) * m->ranks - 1) / g->cells;
}

static int list_vertices(const struct tt_climate_mesh *m, uint64_t rank, struct tt_climate_map *out,
                         struct tt_error *e)
{
    const struct tt_climate_options *o = m->options;
    struct grid g = ocean(o);
    struct tt_climate_map cells = {0}, near = {0};
    int rc = list_ocean_cells(m, rank, &cells, e);

    for (size_t i = 0; i < cells.nruns && rc == TT_OK; i++) {
        uint64_t c = cells.runs[i].start;
        uint64_t beside[] = {c, c + 1, c - 1, c + g.width, c - g.width};

        for (int k = 0; k < 5 && rc == TT_OK; k++)
            if (beside[k] < g.cells) /* below 0 it is very large */
                rc = tt_climate_map_add(&near, beside[k], 1, e);
    }
    sort(&near);
    for (size_t i = 0; i < near.nruns && rc == TT_OK; i++) {
        uint64_t c = near.runs[i].start;

        if ((i > 0 && near.runs[i - 1].start == c) || vertex_owner(m, &g, c) != rank)
            continue;
        for (uint64_t v = first_of_cell(o, o->vertices, c);
             v < first_of_cell(o, o->vertices, c + 1) && rc == TT_OK; v++)
            rc = tt_climate_map_add(out, v, 1, e);
    }
    tt_climate_map_free(&cells);
    tt_climate_map_free(&near);
    return rc;
}

/* Every entity has all its levels in one piece. */
static void stand_up(struct tt_climate_map *m, uint64_t levels)
{
    for (size_t i = 0; i < m->nruns; i++)
        m->runs[i] = (struct tt_run){m->runs[i].start * levels, levels};
    m->elements = m->nruns * levels;
}

static int list_ocean(const struct tt_climate_mesh *m, int map, uint64_t rank,
                      struct tt_climate_map *out, struct tt_error *e)
{
    int rc;

    if (map == 1 || map == 3)
        rc = list_edges(m, rank, map == 1, out, e);
    else
        rc = map == 4 ? list_vertices(m, rank, out, e) : list_ocean_cells(m, rank, out, e);
    if (map == 0)
        merge_neighbours(out);
    if (map >= 2)
        stand_up(out, map == 5 ? m->levels + 1 : m->levels);
    return rc;
}

/* ---- I: land on a grid of latitudes and longitudes ---- */

/* Smooth noise, in whole numbers so that all machines see the same coasts. */
static uint64_t height_at(const struct tt_climate_options *o, uint64_t row, uint64_t column)
{
    static const uint64_t weights[] = {2, 2, 1};
    uint64_t height = 0;

    for (uint64_t i = 0; i < 3; i++) {
        uint64_t ny = UINT64_C(4) << i, nx = UINT64_C(6) << i;
        uint64_t y = row * ny * 256 / o->latitudes, x = column * nx * 256 / o->longitudes;
        uint64_t fy = y & 255, fx = x & 255, sums[2];

        y >>= 8;
        x >>= 8;
        for (uint64_t k = 0; k < 2; k++) {
            uint64_t west = tt_mix(i * 1000003 + (y + k) * 4099 + x) >> 48;
            uint64_t east = tt_mix(i * 1000003 + (y + k) * 4099 + (x + 1) % nx) >> 48;

            sums[k] = west * (256 - fx) + east * fx;
        }
        height += weights[i] * (sums[0] * (256 - fy) + sums[1] * fy);
    }
    return height;
}

static int by_height(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void list_land(struct tt_climate_mesh *m, const uint64_t *heights, uint64_t sea)
{
    const struct tt_climate_options *o = m->options;

    for (uint64_t i = 0; i < o->latitudes * o->longitudes; i++) {
        if (heights[i] <= sea)
            continue;
        if (i % o->longitudes == 0 || heights[i - 1] <= sea) {
            m->before[m->nstretches] = m->land;
            m->stretches[m->nstretches++] = (struct tt_run){i, 0};
        }
        m->stretches[m->nstretches - 1].length++;
        m->land++;
    }
}

static int make_land(struct tt_climate_mesh *m, struct tt_error *e)
{
    const struct tt_climate_options *o = m->options;
    uint64_t n = o->latitudes * o->longitudes, most = n / 2 + o->latitudes, sea;
    uint64_t *heights = malloc(n * sizeof *heights), *sorted = malloc(n * sizeof *sorted);
    bool ok = heights && sorted;

    m->stretches = malloc(most * sizeof *m->stretches);
    m->before = malloc(most * sizeof *m->before);
    m->memory = 2 * n * sizeof *heights + most * (sizeof *m->stretches + sizeof *m->before);
    ok = ok && m->stretches && m->before;
    for (uint64_t i = 0; ok && i < n; i++)
        heights[i] = height_at(o, i / o->longitudes, i % o->longitudes);
    if (ok) {
        memcpy(sorted, heights, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, by_height);
        sea = sorted[n - 1 - n * o->land / 100];
        list_land(m, heights, sea);
    }
    free(heights);
    free(sorted);
    return ok ? TT_OK : tt_fail_nomem(e, "the land");
}

/* Land cells first to last - 1, cut at the ends of stretches. */
static int list_segment(const struct tt_climate_mesh *m, uint64_t first, uint64_t last,
                        struct tt_climate_map *out, struct tt_error *e)
{
    size_t low = 0, high = m->nstretches;
    int rc = TT_OK;

    while (high - low > 1) { /* the last stretch that begins at or before it */
        size_t middle = low + (high - low) / 2;

        *(m->before[middle] <= first ? &low : &high) = middle;
    }
    for (; first < last && rc == TT_OK; low++) {
        uint64_t skip = first - m->before[low], n = m->stretches[low].length - skip;

        n = n < last - first ? n : last - first;
        rc = tt_climate_map_add(out, m->stretches[low].start + skip, n, e);
        first += n;
    }
    return rc;
}

/* What is not land, stretch by stretch of every row, dealt to the ranks one by one. */
static int list_sea(const struct tt_climate_mesh *m, uint64_t rank, struct tt_climate_map *out,
                    struct tt_error *e)
{
    const struct tt_climate_options *o = m->options;
    uint64_t at = 0, end = o->latitudes * o->longitudes, number = 0;
    int rc = TT_OK;

    for (size_t i = 0; i <= m->nstretches; i++) {
        uint64_t until = i < m->nstretches ? m->stretches[i].start : end;

        while (at < until && rc == TT_OK) {
            uint64_t row_end = (at / o->longitudes + 1) * o->longitudes;
            uint64_t n = (until < row_end ? until : row_end) - at;

            if (number++ % m->ranks == rank)
                rc = tt_climate_map_add(out, at, n, e);
            at += n;
        }
        at = i < m->nstretches ? until + m->stretches[i].length : end;
    }
    return rc;
}

static int repeat_levels(struct tt_climate_map *m, uint64_t levels, uint64_t stride,
                         struct tt_error *e)
{
    size_t n = m->nruns;
    int rc = TT_OK;

    for (uint64_t l = 1; l < levels; l++)
        for (size_t i = 0; i < n && rc == TT_OK; i++)
            rc = tt_climate_map_add(m, m->runs[i].start + l * stride, m->runs[i].length, e);
    return rc;
}

/* Segments go round-robin to clumps, and clumps to ranks. */
static int list_clumps(const struct tt_climate_mesh *m, uint64_t levels, uint64_t rank,
                       struct tt_climate_map *out, struct tt_error *e)
{
    const struct tt_climate_options *o = m->options;
    uint64_t segments = SEGMENTS * m->ranks, clumps = CLUMPS * m->ranks;
    int rc = TT_OK;

    for (uint64_t clump = rank; clump < clumps; clump += m->ranks)
        for (uint64_t s = clump; s < segments && rc == TT_OK; s += clumps)
            rc = list_segment(m, divide_up(s * m->land, segments),
                              divide_up((s + 1) * m->land, segments), out, e);
    if (rc == TT_OK && o->fill)
        rc = list_sea(m, rank, out, e);
    return rc == TT_OK ? repeat_levels(out, levels, o->latitudes * o->longitudes, e) : rc;
}

/* ---- all cases ---- */

/* A variable of all records, of hundreds of which a file consists. */
int tt_climate_check_size(const struct tt_climate_options *o, struct tt_error *e)
{
    double levels = (double)(o->levels ? o->levels : 100) + 20;

    if (4096.0 * levels * (double)o->records *
            (double)(o->columns + o->cells + o->edges + o->vertices +
                     o->latitudes * o->longitudes) >=
        0x1p62)
        return tt_fail(e, TT_USAGE, "climate: the mesh times its levels and records is too large");
    return TT_OK;
}

int tt_climate_mesh_make(struct tt_climate_mesh *m, const struct tt_climate_options *o,
                         uint64_t ranks, struct tt_error *e)
{
    uint64_t usual = o->which == TT_CLIMATE_F ? 72 : 100;

    *m = (struct tt_climate_mesh){
        .options = o, .levels = o->levels ? o->levels : usual, .ranks = ranks};
    if (o->map)
        return tt_climate_map_file_open(m, o, e);
    return o->which == TT_CLIMATE_I ? make_land(m, e) : TT_OK;
}

void tt_climate_mesh_free(struct tt_climate_mesh *m)
{
    tt_climate_map_file_close(m->file);
    free(m->stretches);
    free(m->before);
}

int tt_climate_nmaps(const struct tt_climate_options *o)
{
    static const int maps[] = {3, 6, 5};

    return maps[o->which];
}

int tt_climate_map_dims(const struct tt_climate_mesh *m, int map, uint64_t dims[3])
{
    const struct tt_climate_options *o = m->options;
    const uint64_t entities[] = {o->cells, o->edges, o->cells, o->edges, o->vertices, o->cells};
    int n = 0;

    if (o->which == TT_CLIMATE_F) {
        if (map == 2)
            dims[n++] = m->levels;
        dims[n++] = o->columns;
    } else if (o->which == TT_CLIMATE_G) {
        dims[n++] = entities[map];
        if (map >= 2)
            dims[n++] = map == 5 ? m->levels + 1 : m->levels;
    } else {
        if (map > 0)
            dims[n++] = land_levels[map];
        dims[n++] = o->latitudes;
        dims[n++] = o->longitudes;
    }
    return n;
}

int tt_climate_map_make(struct tt_climate_map *out, const struct tt_climate_mesh *m, int map,
                        uint64_t rank, struct tt_error *e)
{
    const struct tt_climate_options *o = m->options;
    int rc;

    *out = (struct tt_climate_map){0};
    if (m->file)
        rc = tt_climate_map_file_list(m, map, rank, out, e);
    else if (o->which == TT_CLIMATE_F)
        rc = map == 0 ? list_elements(m, rank, out, e)
                      : list_chunks(m, map == 2 ? m->levels : 1, rank, out, e);
    else if (o->which == TT_CLIMATE_G)
        rc = list_ocean(m, map, rank, out, e);
    else
        rc = list_clumps(m, land_levels[map], rank, out, e);
    if (rc == TT_OK && o->sorted)
        sort(out);
    return rc;
}

void tt_climate_map_free(struct tt_climate_map *m)
{
    free(m->runs);
    *m = (struct tt_climate_map){0};
}
