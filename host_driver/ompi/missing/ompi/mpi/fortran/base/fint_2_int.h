/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stands in for a header that Open MPI's header of operations includes and libopenmpi-dev does not
 * install.
 *
 * MPI_Fint and int have the same width on all platforms of weft, so a conversion keeps the value.
 */
#ifndef WEFT_OMPI_FINT_2_INT_H
#define WEFT_OMPI_FINT_2_INT_H

#define OMPI_FINT_2_INT(value)        (value)
#define OMPI_INT_2_FINT(value)        (value)
#define OMPI_SINGLE_FINT_2_INT(value) (value)
#define OMPI_SINGLE_INT_2_FINT(value) (value)

#endif /* WEFT_OMPI_FINT_2_INT_H */
