-- Commits after which the same command took longer per step than at the commit before.
WITH by_commit AS (
    SELECT
        command,
        "commit",
        min(started) AS first_run,
        count(*) AS runs,
        avg(step_seconds) AS step_seconds
    FROM runs
    WHERE steps > 0 AND "commit" <> ''
    GROUP BY command, "commit"
),
with_previous AS (
    SELECT
        *,
        lag(step_seconds) OVER (PARTITION BY command ORDER BY first_run) AS before_seconds
    FROM by_commit
)
SELECT
    command,
    "commit",
    runs,
    before_seconds,
    step_seconds,
    round(step_seconds / before_seconds, 2) AS times
FROM with_previous
WHERE step_seconds > 1.1 * before_seconds
ORDER BY times DESC;
