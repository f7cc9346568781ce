-- What costs most, week by week: seconds of training that could be had back, and in how many runs.
SELECT
    week,
    cause,
    count(DISTINCT run) AS runs,
    round(sum(seconds)) AS seconds,
    round(100 * avg(share), 1) AS percent_of_training
FROM findings
WHERE fault
GROUP BY week, cause
ORDER BY week, seconds DESC;
