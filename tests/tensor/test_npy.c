/* .npy: headers of every version, order and byte order; refusals with the place; saving. */
#include "alloc.h"
#include "files.h"

#include <cotangent/io.h>

#define V1 "\x93NUMPY\x01"

/* Version 1.0 to 3.0 around a header text and data. */
static const char *npy(int version, const char *header, const void *data, size_t bytes)
{
    static unsigned char file[1 << 16];
    size_t length = strlen(header), n = version == 1 ? 10 : 12;
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (unsigned char)version;
    file[7] = 0;
    for (size_t i = 8; i < n; i++) file[i] = (unsigned char)(length >> 8 * (i - 8));
    memcpy(file + n, header, length);
    if (bytes) memcpy(file + n + length, data, bytes);
    return files_write("t.npy", file, n + length + bytes);
}

static ct_tensor *load(const char *header, const void *data, size_t bytes)
{
    return ct_npy_load(dev, npy(1, header, data, bytes));
}

static void refused(const char *header, size_t bytes, const char *message)
{
    static const char zeros[256];
    assert_null(load(header, zeros, bytes));
    assert_says(CT_EFORMAT, message);
}

static const double six[] = { 1, 2, 3, 4, 5, 6 };

static void headers(void **state)
{
    (void)state;
    static const char *const text[] = {
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }          \n",
        "{\"shape\":(2,3),\"descr\":\"<f8\",\"fortran_order\":False}",
        " { 'fortran_order' : False , 'shape' : ( 2L , 3L , ) , 'descr' : '=f8' } \n",
    };
    for (int version = 1; version <= 3; version++)
        for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
            ct_tensor *t = assert_tensor(ct_npy_load(dev, npy(version, text[i], six, sizeof six)), dev);
            assert_true(ct_shape_equal(ct_tensor_shape(t), ct_shape2(2, 3)));
            assert_elements(t, 0, 0, 1, 2, 3, 4, 5, 6);
            ct_release(t);
        }
    ct_tensor *t = assert_tensor(load("{'descr':'<f8','fortran_order':False,'shape':()}", six, 8), dev);
    assert_int_equal(ct_tensor_ndim(t), 0);
    ct_release(t);
    t = assert_tensor(load("{'descr':'<f8','fortran_order':True,'shape':(6,)}", six, 48), dev);
    assert_elements(t, 0, 0, 1, 2, 3, 4, 5, 6);
    ct_release(t);
    t = assert_tensor(load("{'descr':'<f8','fortran_order':False,'shape':(0, 3)}", six, 0), dev);
    assert_true(ct_shape_equal(ct_tensor_shape(t), ct_shape2(0, 3)));
    ct_release(t);
}

static void fortran(void **state)
{
    (void)state;
    ct_tensor *t = assert_tensor(load("{'descr':'<f8','fortran_order':True,'shape':(2, 3)}", six, 48), dev);
    assert_true(ct_tensor_is_contiguous(t));
    assert_elements(t, 0, 0, 1, 3, 5, 2, 4, 6);
    ct_release(t);
    t = assert_tensor(load("{'descr':'<f8','fortran_order':True,'shape':(1,2,3)}", six, 48), dev);
    assert_true(ct_shape_equal(ct_tensor_shape(t), ct_shape3(1, 2, 3)));
    assert_elements(t, 0, 0, 1, 3, 5, 2, 4, 6);
    ct_release(t);
}

static void dtypes(void **state)
{
    (void)state;
    static const struct {
        const char *descr, *bytes;
        size_t size;
        ct_dtype dtype;
        double first, second;
    } cases[] = {
        { ">f8", "\x3f\xf8\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0", 16, CT_F64, 1.5, -2 },
        { "<f4", "\0\0\xc0\x3f\0\0\0\xc0", 8, CT_F32, 1.5, -2 },
        { "<f2", "\x00\x3e\x00\xc0", 4, CT_F16, 1.5, -2 },
        { ">f2", "\x3e\x00\xc0\x00", 4, CT_F16, 1.5, -2 },
        { ">f4", "\x3f\xc0\0\0\xc0\0\0\0", 8, CT_F32, 1.5, -2 },
        { "<i8", "\1\0\0\0\0\0\0\0\xfe\xff\xff\xff\xff\xff\xff\xff", 16, CT_I64, 1, -2 },
        { ">i8", "\0\0\0\0\0\0\1\0\xff\xff\xff\xff\xff\xff\xff\xfe", 16, CT_I64, 256, -2 },
        { "<i4", "\1\0\0\0\xfe\xff\xff\xff", 8, CT_I64, 1, -2 },
        { ">i4", "\0\0\1\0\xff\xff\xff\xfe", 8, CT_I64, 256, -2 },
        { "<i2", "\1\0\xfe\xff", 4, CT_I64, 1, -2 },
        { ">i2", "\1\0\xff\xfe", 4, CT_I64, 256, -2 },
        { "|i1", "\1\xfe", 2, CT_I64, 1, -2 },
        { "<u4", "\1\0\0\0\xfe\xff\xff\xff", 8, CT_I64, 1, 4294967294. },
        { ">u2", "\1\0\xff\xfe", 4, CT_I64, 256, 65534 },
        { "|u1", "\1\xfe", 2, CT_I64, 1, 254 },
        { "|b1", "\0\1", 2, CT_I64, 0, 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char header[100];
        snprintf(header, sizeof header, "{'descr':'%s','fortran_order':False,'shape':(2,)}", cases[i].descr);
        ct_tensor *t = assert_tensor(load(header, cases[i].bytes, cases[i].size), dev);
        assert_int_equal(ct_tensor_dtype(t), cases[i].dtype);
        assert_elements(t, 0, 0, cases[i].first, cases[i].second);
        ct_release(t);
    }
}

static void refusals(void **state)
{
    (void)state;
    refused("", 0, "header, byte 10: a dict expected");
    refused("{}", 0, "'descr', 'fortran_order' and 'shape' expected");
    refused("{'descr': '<f8', 'fortran_order': False}", 0, "and 'shape' expected");
    refused("{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': ()}", 8, "once each");
    refused("{'descr': '<f8', 'other': 1, 'fortran_order': False, 'shape': ()}", 8, "once each");
    refused("{'descr': '<f8', 'fortran_order': false, 'shape': ()}", 8, "byte 44: True or False expected");
    refused("{'descr': '<f8' 'fortran_order': False, 'shape': ()}", 8, "expected");
    refused("{'descr': '<f8', 'fortran_order': False, 'shape': ()} x", 8, "the end of the header expected");
    refused("{'descr': '<f8', 'fortran_order': False, 'shape': (", 8, "a shape such as (3, 4) expected");
    refused("{'descr': '<f8', 'fortran_order': False, 'shape': (1)}", 8,
            "the comma of a tuple (n,) expected");
    refused("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}", 8, "a shape such as");
    refused("{'descr': '<f8', 'fortran_order': False, 'shape': (1 1)}", 8, "a shape such as");
    refused("{'descr': '<f8', 'fortran_order': False, 'shape': (1,,)}", 8, "a shape such as");
    refused("{'descr': '<f8', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}", 8,
            "more than 8 dimensions");
    refused("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}", 8,
            "less than 2^63");
    refused("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", 8, "truncated");
    refused("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}", 8,
            "1000000000000 elements");
    refused("{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}", 15, "truncated");
    refused("{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}", 17, "1 bytes follow");
    refused("{'descr': '<f8', 'fortran_order': False, 'shape': (0,)}", 8, "8 bytes follow");
    static const char *const types[] = { "<c8",     "|V2", "<u8", "|f8", "|O", "<f16",
                                         "<M8[ns]", "",    "f8",  "<x8", "|S1" };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char header[100];
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (1,)}", types[i]);
        refused(header, 8, "cannot be read");
    }
    refused("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}", 8, "a plain dtype");
    refused("{'descr': '<f8, 'fortran_order': False, 'shape': (1,)}", 8, "type '<f8, ' cannot be read");
    refused("{'descr: ", 8, "expected");
}

static void not_npy(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *message;
    } cases[] = {
        { "", 0, "the file is empty" },
        { "\x93NUMP", 5, "not a .npy file" },
        { "PK\3\4"
          "567890123456",
          16, "not a .npy file" },
        { "\x93NUMPY\4\0\0\0{}", 12, "version 4.0" },
        { "\x93NUMPY\0\0\0\0{}", 12, "version 0.0" },
        { V1 "\0\377\377{}", 12, "a header of 65535 bytes in a file of 12" },
        { "\x93NUMPY\2\0\0\0\0\377{}", 14, "a header of 4278190080 bytes" },
        { "\x93NUMPY\2\0\0\0\0", 11, "a header of 0 bytes in a file of 11" },
        { V1 "\0\0\0", 10, "a dict expected" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_null(ct_npy_load(dev, files_write("bad.npy", cases[i].bytes, cases[i].size)));
        assert_says(CT_EFORMAT, cases[i].message);
    }
    assert_null(ct_npy_load(dev, files_path("absent.npy")));
    assert_says(CT_EIO, "absent.npy: no such file");
    assert_null(ct_npy_load(dev, files_folder));
    assert_says(CT_EIO, "is a directory");
    assert_null(ct_npy_load(dev, "/dev/null"));
    assert_says(CT_EFORMAT, "the file is empty");
    assert_null(ct_npy_load(dev, NULL));
    assert_null(ct_npy_load(NULL, "x"));
}

static void saves(void **state)
{
    (void)state;
    const char *path = files_path("s.npy");
    ct_tensor *x = tensor2(dev, 2, 3, 1, 2, 3, 4, 5, 6), *xt = ct_tensor_transpose(x),
              *row = ct_tensor_slice(x, 1, 0, 3, 2), *wide = ct_tensor_broadcast(row, ct_shape3(2, 2, 2)),
              *s = tensor0(dev, 7), *none = ct_empty(dev, CT_F32, ct_shape3(2, 0, 3)),
              *i = ct_tensor_cast(x, CT_I64), *f = ct_tensor_cast(xt, CT_F32),
              *h = ct_tensor_cast(xt, CT_F16);
    ct_tensor *all[] = { x, xt, row, wide, s, none, i, f, h };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        assert_ok(ct_npy_save(all[k], path), ct_message(dev));
        ct_tensor *back = assert_tensor(ct_npy_load(dev, path), dev);
        assert_int_equal(ct_tensor_dtype(back), ct_tensor_dtype(all[k]));
        assert_true(ct_shape_equal(ct_tensor_shape(back), ct_tensor_shape(all[k])));
        size_t bytes = (size_t)ct_tensor_count(back) * ct_dtype_size(ct_tensor_dtype(back));
        char data[256];
        assert_ok(ct_read(all[k], data, bytes), ct_message(dev));
        assert_memory_equal(data, ct_tensor_data(back), bytes);
        ct_release(back);
    }
    assert_ok(ct_npy_save(s, path), ct_message(dev));
    size_t bytes;
    char *file = files_read(path, &bytes);
    assert_int_equal(bytes, 128 + 8);
    assert_memory_equal(file, "\x93NUMPY\1\0\x76\0{'descr': '<f8', 'fortran_order': False, 'shape': (), }  ",
                        67);
    assert_int_equal(file[127], '\n');
    free(file);
    assert_status(ct_npy_save(NULL, path), CT_EINVAL, "");
    assert_status(ct_npy_save(x, NULL), CT_EINVAL, "");
    assert_status(ct_npy_save(x, files_folder), CT_EIO, "");
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) ct_release(all[k]);
}

static void larger_than_a_chunk(void **state)
{
    (void)state;
    const char *path = files_path("large.npy");
    ct_tensor *x = assert_tensor(ct_rand_normal(dev, CT_F64, ct_shape2(401, 503), 1, 0), dev);
    assert_ok(ct_npy_save(x, path), ct_message(dev));
    ct_tensor *y = assert_tensor(ct_npy_load(dev, path), dev);
    assert_memory_equal(ct_tensor_data(x), ct_tensor_data(y), 401 * 503 * sizeof(double));
    ct_release(x);
    ct_release(y);
}

static void no_memory(void **state)
{
    (void)state;
    const char *path = npy(1, "{'descr':'>f8','fortran_order':True,'shape':(2, 3)}", six, 48),
               *out = files_path("o.npy");
    ct_tensor *x = tensor2(dev, 2, 2, 1, 2, 3, 4), *xt = ct_tensor_transpose(x);
    bool refused_one = true;
    for (int64_t k = 1; refused_one; k++) {
        assert_true(k < 200);
        ct_memory_trim(dev);
        alloc_fail_at(k);
        ct_tensor *t = ct_npy_load(dev, path);
        ct_status s = t ? CT_OK : ct_last_status(dev), saved = ct_npy_save(xt, out);
        refused_one = alloc_refused();
        ct_release(t);
        alloc_unwatch();
        if ((s || saved) && !(refused_one && (s == CT_ENOMEM || saved == CT_ENOMEM)))
            fail_msg("allocation %d: %s", (int)k, ct_message(dev));
    }
    ct_release(x);
    ct_release(xt);
    alloc_watch();
    ct_device *fresh = ct_device_open("cpu");
    ct_release(ct_npy_load(fresh, path));
    ct_npy_load(fresh, "absent");
    ct_device_close(fresh);
    assert_int_equal(alloc_live(), 0);
    alloc_unwatch();
    ct_device *small = ct_device_open_with("cpu", &(ct_device_options){ .memory_limit = 1 });
    assert_null(ct_npy_load(small, path));
    assert_int_equal(ct_last_status(small), CT_ENOMEM);
    ct_device_close(small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers),
        cmocka_unit_test(fortran),
        cmocka_unit_test(dtypes),
        cmocka_unit_test(refusals),
        cmocka_unit_test(not_npy),
        cmocka_unit_test(saves),
        cmocka_unit_test(larger_than_a_chunk),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
