/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sin(pi x) = cos(pi t), t = x - 1/2, by a polynomial in t^2 (Chebyshev fit on [0, 1/4], truncation
 * error 4e-18). A macro, so that scalars and vectors run the very same operations. */
#ifndef TT_STENCIL_SINE_H
#define TT_STENCIL_SINE_H

#define TT_SINE(x, type) \
    ({ \
        type t_ = (x)-0.5, u_ = t_ * t_; \
        type p_ = u_ * 0x1.1678f9078a9b3p-18 - 0x1.b6957b54dd389p-14; \
        p_ = p_ * u_ + 0x1.f9d254582ac30p-10; \
        p_ = p_ * u_ - 0x1.a6d1efc8c38bep-6; \
        p_ = p_ * u_ + 0x1.e1f506813a321p-3; \
        p_ = p_ * u_ - 0x1.55d3c7e3bfbf5p+0; \
        p_ = p_ * u_ + 0x1.03c1f081b5992p+2; \
        p_ = p_ * u_ - 0x1.3bd3cc9be45dbp+2; \
        p_ *u_ + 1.0; \
    })

#endif
