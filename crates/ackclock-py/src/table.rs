//! Tables passed to Python through the Arrow C interface, without a copy.

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::ffi::FFI_ArrowSchema;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

// The names that the Arrow PyCapsule interface prescribes.
const STREAM: &CStr = c"arrow_array_stream";
const SCHEMA: &CStr = c"arrow_schema";

/// A table of a run. Libraries with the Arrow PyCapsule interface (pyarrow, polars, pandas) import it without
/// copying.
#[pyclass(frozen, module = "ackclock._core")]
pub struct Table(RecordBatch);

impl Table {
    /// Wraps a batch; its buffers stay where they are.
    pub fn new(batch: RecordBatch) -> Self {
        Self(batch)
    }
}

#[pymethods]
impl Table {
    /// The number of rows.
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// The table as an Arrow stream of one batch. A requested schema is only a preference in this protocol,
    /// and is ignored.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), STREAM)
    }

    /// The schema alone.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(Arc::as_ref(&self.0.schema()))
            .map_err(|e| PyValueError::new_err(e.to_string()))?;
        PyCapsule::new_with_value(py, schema, SCHEMA)
    }

    /// The address of a column's first buffer of values. A test checks with it that nothing was copied.
    fn address(&self, column: usize) -> Option<usize> {
        let data = self.0.columns().get(column)?.to_data();
        data.buffers().first().map(|b| b.as_ptr() as usize)
    }
}
