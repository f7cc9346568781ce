-- The tables of a data set that `unslow export parquet --dataset DATASET` wrote, for DuckDB.
-- hive_partitioning makes `week` a column, and a condition on it reads only the files of these weeks.
CREATE VIEW runs AS
    SELECT * FROM read_parquet('DATASET/runs/*/*.parquet', hive_partitioning = true);
CREATE VIEW findings AS
    SELECT * FROM read_parquet('DATASET/findings/*/*.parquet', hive_partitioning = true);
CREATE VIEW workers AS
    SELECT * FROM read_parquet('DATASET/workers/*/*.parquet', hive_partitioning = true);
