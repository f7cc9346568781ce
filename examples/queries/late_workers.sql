-- Machines whose workers hold others up again and again: the first place to look for bad hardware.
SELECT
    host,
    count(DISTINCT run) AS jobs,
    count(DISTINCT CASE WHEN late THEN run END) AS late_jobs,
    round(sum(caused_seconds)) AS others_waited_seconds,
    round(avg(own_seconds), 4) AS own_seconds
FROM workers
GROUP BY host
HAVING count(DISTINCT CASE WHEN late THEN run END) > 0
ORDER BY late_jobs DESC, others_waited_seconds DESC;
