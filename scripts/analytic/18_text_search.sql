-- Patterns and functions of text.
SELECT substr(note, 1, 6) AS prefix, count(*), max(length(note))
FROM line WHERE note LIKE '%7%' AND upper(note) <> 'NOTE 7' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10;
