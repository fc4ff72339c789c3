"""Operators of TensorFlow that reach further than their tensors. Source: its registry of operators, whose arguments a test
holds against these lists."""

HARMFUL = frozenset({
    # files
    "CSVDataset", "CSVDatasetV2", "CacheDataset", "CacheDatasetV2", "CalibrationStatisticsSaver", "DatasetToTFRecord",
    "DecodeProtoV2", "DumpTensor", "EncodeProto", "ExperimentalCSVDataset", "ExperimentalDatasetToTFRecord",
    "ExperimentalLMDBDataset", "ExperimentalMatchingFilesDataset", "ExperimentalSqlDataset", "FileSystemSetConfiguration",
    "FixedLengthRecordDataset", "FixedLengthRecordDatasetV2", "FixedLengthRecordReader", "FixedLengthRecordReaderV2",
    "FixedUnigramCandidateSampler", "GenerateVocabRemapping", "ImmutableConst", "InitializeTableFromTextFile",
    "InitializeTableFromTextFileV2", "LMDBDataset", "LMDBReader", "ListSnapshotChunksDataset", "LoadAndRemapMatrix",
    "LoadDataset", "MatchingFiles", "MatchingFilesDataset", "PrintV2", "ReadFile", "RecordInput", "Save", "SaveDataset",
    "SaveDatasetV2", "SaveSlices", "Skipgram", "SnapshotChunkDataset", "SnapshotDataset", "SnapshotDatasetReader",
    "SnapshotDatasetV2", "SqlDataset", "TFRecordDataset", "TFRecordDatasetV2", "TFRecordReader", "TFRecordReaderV2",
    "TextLineDataset", "TextLineReader", "TextLineReaderV2", "WholeFileReader", "WholeFileReaderV2", "WriteFile",
    # what is written beside the model, for those who look at it
    "CreateSummaryDbWriter", "CreateSummaryFileWriter", "DebugIdentity", "DebugIdentityV2", "DebugIdentityV3",
    "DebugNanCount", "DebugNumericSummary", "DebugNumericSummaryV2",
    # other processes
    "DataServiceDataset", "DataServiceDatasetV2", "DataServiceDatasetV3", "DataServiceDatasetV4", "DistributedSave",
    "RegisterDataset", "RegisterDatasetV2", "RemoteCall", "RpcCall", "RpcClient", "RpcServer", "RpcServerRegister",
    # code, by an address or a name
    "EagerPyFunc", "PyFunc", "PyFuncStateless", "XlaCallModule",
})  # fmt: skip

STORING = frozenset({"DTensorRestoreV2", "MergeV2Checkpoints", "Restore", "RestoreSlice", "RestoreV2", "SaveV2"})
"""Those of every SavedModel, for saving it once more; nothing that is computed needs them."""
