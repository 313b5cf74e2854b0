/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A VOL connector for HDF5 1.14 and newer, for tests: it hands everything that tutti calls to the
 * native connector, whose objects it does not wrap, and counts. It is told, as in "counting
 * log=FILE;async": log=FILE   a line with the counts is added whenever a file is closed async a
 * write with a request returns at once; a thread copies the data into the file a little later fail
 * such a write fails, in its thread A file of 1.14 whose datasets are contiguous can be written
 * past HDF5, which is not thread-safe; other writes block. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <H5PLextern.h>
#include <hdf5.h>

enum { PIECES = 1 << 16, DELAY_US = 5000 };

struct info {
    char log[256];
    bool async, fail;
};

static struct info told; /* by the last file that was opened */
static struct {
    unsigned creates, opens, datasets, writes, reads, async;
} counts;

/* ---- what it is told ---- */

static herr_t info_from_text(const char *text, void **out)
{
    struct info *info = calloc(1, sizeof *info);
    const char *log = text ? strstr(text, "log=") : NULL;

    if (!info)
        return -1;
    if (log)
        snprintf(info->log, sizeof info->log, "%.*s", (int)strcspn(log + 4, ";"), log + 4);
    info->async = text && strstr(text, ";async");
    info->fail = text && strstr(text, ";fail");
    *out = info;
    return log ? 0 : -1;
}

static herr_t info_compare(int *result, const void *a, const void *b)
{
    *result = a && b ? memcmp(a, b, sizeof(struct info)) : (a != NULL) - (b != NULL);
    return 0;
}

/* ---- files ---- */

static hid_t below(hid_t access)
{
    hid_t copy = H5Pcopy(access);
    void *info = NULL;

    if (H5Pget_vol_info(access, &info) >= 0 && info)
        told = *(struct info *)info;
    free(info);
    H5Pset_vol(copy, H5VL_NATIVE, NULL);
    return copy;
}

static void *file_create(const char *name, unsigned flags, hid_t create, hid_t access,
                         hid_t transfer, void **req)
{
    hid_t native = below(access);
    void *file = H5VLfile_create(name, flags, create, native, transfer, NULL);

    (void)req;
    counts.creates += file != NULL;
    H5Pclose(native);
    return file;
}

static void *file_open(const char *name, unsigned flags, hid_t access, hid_t transfer, void **req)
{
    hid_t native = below(access);
    void *file = H5VLfile_open(name, flags, native, transfer, NULL);

    (void)req;
    counts.opens += file != NULL;
    H5Pclose(native);
    return file;
}

static herr_t file_get(void *file, H5VL_file_get_args_t *args, hid_t transfer, void **req)
{
    (void)req;
    return H5VLfile_get(file, H5VL_NATIVE, args, transfer, NULL);
}

static herr_t file_specific(void *file, H5VL_file_specific_args_t *args, hid_t transfer, void **req)
{
    (void)req;
    return H5VLfile_specific(file, H5VL_NATIVE, args, transfer, NULL);
}

static herr_t file_optional(void *file, H5VL_optional_args_t *args, hid_t transfer, void **req)
{
    (void)req;
    return H5VLfile_optional(file, H5VL_NATIVE, args, transfer, NULL);
}

static herr_t file_close(void *file, hid_t transfer, void **req)
{
    FILE *log = fopen(told.log, "a");

    (void)req;
    if (log) {
        fprintf(log, "creates=%u opens=%u datasets=%u writes=%u reads=%u async=%u\n",
                counts.creates, counts.opens, counts.datasets, counts.writes, counts.reads,
                counts.async);
        fclose(log);
    }
    memset(&counts, 0, sizeof counts);
    return H5VLfile_close(file, H5VL_NATIVE, transfer, NULL);
}

/* ---- writes that go on ---- */

struct pieces {
    size_t n;
    hsize_t at[PIECES];
    size_t bytes[PIECES];
};

struct request {
    pthread_t thread;
    struct pieces file, memory;
    const char *data;
    haddr_t base;
    int fd, error;
    bool joined;
};

static bool list_pieces(hid_t space, size_t size, struct pieces *p)
{
    hid_t walk = H5Ssel_iter_create(space, size, 0);
    size_t elements = (size_t)H5Sget_select_npoints(space), taken = 0;
    herr_t rc =
        walk < 0 ? -1
                 : H5Ssel_iter_get_seq_list(walk, PIECES, elements, &p->n, &taken, p->at, p->bytes);

    if (walk >= 0)
        H5Ssel_iter_close(walk);
    return rc >= 0 && taken == elements;
}

static void *write_pieces(void *request)
{
    struct request *r = request;
    size_t end = r->file.n ? r->base + r->file.at[r->file.n - 1] + r->file.bytes[r->file.n - 1] : 0,
           f = 0, m = 0;
    char *map = MAP_FAILED;

    usleep(DELAY_US);
    if (end == 0)
        return NULL;
    r->error = told.fail ? EIO : posix_fallocate(r->fd, (off_t)end - 1, 1);
    if (!r->error &&
        (map = mmap(NULL, end, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0)) == MAP_FAILED)
        r->error = errno;
    while (!r->error && f < r->file.n) {
        size_t n = r->file.bytes[f] < r->memory.bytes[m] ? r->file.bytes[f] : r->memory.bytes[m];

        memcpy(map + r->base + r->file.at[f], r->data + r->memory.at[m], n);
        r->file.at[f] += n, r->memory.at[m] += n;
        f += (r->file.bytes[f] -= n) == 0;
        m += (r->memory.bytes[m] -= n) == 0;
    }
    if (map != MAP_FAILED)
        munmap(map, end);
    return NULL;
}

static haddr_t offset_of(void *dataset)
{
    haddr_t offset = HADDR_UNDEF;
    H5VL_native_dataset_optional_args_t of = {.get_offset = {&offset}};
    H5VL_optional_args_t args = {H5VL_NATIVE_DATASET_GET_OFFSET, &of};

    H5VLdataset_optional(dataset, H5VL_NATIVE, &args, H5P_DATASET_XFER_DEFAULT, NULL);
    return offset;
}

static int open_file_of(void *dataset)
{
    char name[4096] = "";
    size_t length = 0;
    H5VL_file_get_args_t args = {.op_type = H5VL_FILE_GET_NAME,
                                 .args.get_name = {H5I_DATASET, sizeof name, name, &length}};

    H5VLfile_get(dataset, H5VL_NATIVE, &args, H5P_DATASET_XFER_DEFAULT, NULL);
    return open(name, O_RDWR | O_CLOEXEC);
}

static struct request *start(void *dataset, hid_t type, hid_t memory, hid_t space, const void *data)
{
    struct request *r = calloc(1, sizeof *r);
    size_t size = H5Tget_size(type);

    r->data = data;
    r->base = offset_of(dataset);
    r->fd = r->base == HADDR_UNDEF ? -1 : open_file_of(dataset);
    if (r->fd >= 0 && list_pieces(space, size, &r->file) && list_pieces(memory, size, &r->memory) &&
        pthread_create(&r->thread, NULL, write_pieces, r) == 0)
        return r;
    if (r->fd >= 0)
        close(r->fd);
    free(r);
    return NULL;
}

static herr_t request_wait(void *request, uint64_t timeout, H5VL_request_status_t *status)
{
    struct request *r = request;

    (void)timeout;
    if (!r->joined)
        pthread_join(r->thread, NULL);
    r->joined = true;
    *status = r->error ? H5VL_REQUEST_STATUS_FAIL : H5VL_REQUEST_STATUS_SUCCEED;
    return 0;
}

static herr_t request_specific(void *request, H5VL_request_specific_args_t *args)
{
    const struct request *r = request;
    hid_t stack;

    if (args->op_type != H5VL_REQUEST_GET_ERR_STACK)
        return 0;
    stack = H5Ecreate_stack();
    H5Epush2(stack, __FILE__, __func__, __LINE__, H5E_ERR_CLS, H5E_IO, H5E_WRITEERROR,
             "a copy failed, errno = %d", r->error);
    args->args.get_err_stack.err_stack_id = stack;
    return 0;
}

static herr_t request_free(void *request)
{
    struct request *r = request;

    close(r->fd);
    free(r);
    return 0;
}

/* ---- datasets ---- */

static void *dataset_create(void *obj, const H5VL_loc_params_t *loc, const char *name, hid_t links,
                            hid_t type, hid_t space, hid_t create, hid_t access, hid_t transfer,
                            void **req)
{
    (void)req;
    counts.datasets++;
    return H5VLdataset_create(obj, loc, H5VL_NATIVE, name, links, type, space, create, access,
                              transfer, NULL);
}

static void *dataset_open(void *obj, const H5VL_loc_params_t *loc, const char *name, hid_t access,
                          hid_t transfer, void **req)
{
    (void)req;
    return H5VLdataset_open(obj, loc, H5VL_NATIVE, name, access, transfer, NULL);
}

static herr_t dataset_read(size_t n, void *dsets[], hid_t types[], hid_t memory[], hid_t space[],
                           hid_t transfer, void *data[], void **req)
{
    (void)req;
    counts.reads++;
    return H5VLdataset_read(n, dsets, H5VL_NATIVE, types, memory, space, transfer, data, NULL);
}

static herr_t dataset_write(size_t n, void *dsets[], hid_t types[], hid_t memory[], hid_t space[],
                            hid_t transfer, const void *data[], void **req)
{
    struct request *r = told.async && req && n == 1
                            ? start(dsets[0], types[0], memory[0], space[0], data[0])
                            : NULL;

    counts.writes++;
    if (!r)
        return H5VLdataset_write(n, dsets, H5VL_NATIVE, types, memory, space, transfer, data, NULL);
    counts.async++;
    *req = r;
    return 0;
}

static herr_t dataset_get(void *dset, H5VL_dataset_get_args_t *args, hid_t transfer, void **req)
{
    (void)req;
    return H5VLdataset_get(dset, H5VL_NATIVE, args, transfer, NULL);
}

static herr_t dataset_specific(void *dset, H5VL_dataset_specific_args_t *args, hid_t transfer,
                               void **req)
{
    (void)req;
    return H5VLdataset_specific(dset, H5VL_NATIVE, args, transfer, NULL);
}

static herr_t dataset_optional(void *dset, H5VL_optional_args_t *args, hid_t transfer, void **req)
{
    (void)req;
    return H5VLdataset_optional(dset, H5VL_NATIVE, args, transfer, NULL);
}

static herr_t dataset_close(void *dset, hid_t transfer, void **req)
{
    (void)req;
    return H5VLdataset_close(dset, H5VL_NATIVE, transfer, NULL);
}

/* ---- groups and attributes ---- */

static void *group_create(void *obj, const H5VL_loc_params_t *loc, const char *name, hid_t links,
                          hid_t create, hid_t access, hid_t transfer, void **req)
{
    (void)req;
    return H5VLgroup_create(obj, loc, H5VL_NATIVE, name, links, create, access, transfer, NULL);
}

static void *group_open(void *obj, const H5VL_loc_params_t *loc, const char *name, hid_t access,
                        hid_t transfer, void **req)
{
    (void)req;
    return H5VLgroup_open(obj, loc, H5VL_NATIVE, name, access, transfer, NULL);
}

static herr_t group_close(void *group, hid_t transfer, void **req)
{
    (void)req;
    return H5VLgroup_close(group, H5VL_NATIVE, transfer, NULL);
}

static void *attr_create(void *obj, const H5VL_loc_params_t *loc, const char *name, hid_t type,
                         hid_t space, hid_t create, hid_t access, hid_t transfer, void **req)
{
    (void)req;
    return H5VLattr_create(obj, loc, H5VL_NATIVE, name, type, space, create, access, transfer,
                           NULL);
}

static herr_t attr_write(void *attr, hid_t type, const void *data, hid_t transfer, void **req)
{
    (void)req;
    return H5VLattr_write(attr, H5VL_NATIVE, type, data, transfer, NULL);
}

static herr_t attr_close(void *attr, hid_t transfer, void **req)
{
    (void)req;
    return H5VLattr_close(attr, H5VL_NATIVE, transfer, NULL);
}

/* ---- what it is ---- */

static const H5VL_class_t connector;

static herr_t get_class(void *obj, H5VL_get_conn_lvl_t level, const H5VL_class_t **out)
{
    *out = &connector;
    return level == H5VL_GET_CONN_LVL_CURR
               ? 0
               : H5VLintrospect_get_conn_cls(obj, H5VL_NATIVE, level, out);
}

static herr_t get_abilities(const void *info, uint64_t *flags)
{
    (void)info;
    *flags = connector.cap_flags;
    return 0;
}

static herr_t knows_optional(void *obj, H5VL_subclass_t subclass, int operation, uint64_t *flags)
{
    return H5VLintrospect_opt_query(obj, H5VL_NATIVE, subclass, operation, flags);
}

static const H5VL_class_t connector = {
    .version = H5VL_VERSION,
    .value = 511, /* of those for tests */
    .name = "counting",
    .conn_version = 1,
    .cap_flags = H5VL_CAP_FLAG_ASYNC | H5VL_CAP_FLAG_NATIVE_FILES | H5VL_CAP_FLAG_FILE_BASIC |
                 H5VL_CAP_FLAG_FILE_MORE | H5VL_CAP_FLAG_DATASET_BASIC |
                 H5VL_CAP_FLAG_DATASET_MORE | H5VL_CAP_FLAG_GROUP_BASIC | H5VL_CAP_FLAG_ATTR_BASIC |
                 H5VL_CAP_FLAG_GET_PLIST | H5VL_CAP_FLAG_FLUSH_REFRESH,
    .info_cls = {.size = sizeof(struct info), .cmp = info_compare, .from_str = info_from_text},
    .attr_cls = {.create = attr_create, .write = attr_write, .close = attr_close},
    .dataset_cls = {dataset_create, dataset_open, dataset_read, dataset_write, dataset_get,
                    dataset_specific, dataset_optional, dataset_close},
    .file_cls = {file_create, file_open, file_get, file_specific, file_optional, file_close},
    .group_cls = {.create = group_create, .open = group_open, .close = group_close},
    .introspect_cls = {get_class, get_abilities, knows_optional},
    .request_cls = {.wait = request_wait, .specific = request_specific, .free = request_free},
};

H5PL_type_t H5PLget_plugin_type(void)
{
    return H5PL_TYPE_VOL;
}

const void *H5PLget_plugin_info(void)
{
    return &connector;
}
