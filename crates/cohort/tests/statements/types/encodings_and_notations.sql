-- Names of encodings: case and punctuation don't count, and many have several.
select n, pg_char_to_encoding(n), pg_encoding_to_char(pg_char_to_encoding(n)) from unnest(array['abc','alt','big5','euccn','eucjis2004','eucjp',
 'euckr','euctw','gb18030','gbk','iso88591','iso885910','iso885913','iso885914','iso885915','iso885916','iso88592','iso88593','iso88594',
 'iso88595','iso88596','iso88597','iso88598','iso88599','johab','koi8','koi8r','koi8u','latin1','latin10','latin2','latin3','latin4','latin5',
 'latin6','latin7','latin8','latin9','mskanji','muleinternal','shiftjis','shiftjis2004','sjis','sqlascii','tcvn','tcvn5712','uhc','unicode',
 'utf8','vscii','win','win1250','win1251','win1252','win1253','win1254','win1255','win1256','win1257','win1258','win866','win874','win932',
 'win936','win949','win950','windows1250','windows1251','windows1252','windows1253','windows1254','windows1255','windows1256','windows1257',
 'windows1258','windows866','windows874','windows932','windows936','windows949','windows950','windows28591','UTF-8','Iso_8859-1','KOI8','xx','']) n;
select n, pg_encoding_to_char(n), pg_char_to_encoding(pg_encoding_to_char(n)) from generate_series(-1, 43) n;
-- Basic and extended patterns that are expanded, too.
select regexp_match('a b', 'a\ b', 'xb'), regexp_match('a # c', 'a # c', 'xb'), regexp_match('ac', E'a # c\nc', 'xb'), regexp_match('abc', 'a b c', 'xb');
select regexp_match('a bc', 'a[ ]b c', 'xb'), regexp_match('aaa', 'a\{1, 2\}', 'xb'), regexp_match('ab', ' * a', 'xb'), regexp_match('*a', ' * a', 'xb');
select regexp_match('a', 'a $ ', 'xb'), regexp_match('ab', '\( a $ \)b', 'xb'), regexp_match('a b', '(?e) a b'), regexp_match('a b', '(?xe) a [ ]b# c');
select regexp_match('a# b', '(?xe) a\# b'), regexp_match('a b', '(?xe) a\ b'), regexp_match('aa', 'a * ', 'xb'), regexp_match('*', '^ * ', 'xb');
select regexp_match('a# b', 'a\# b', 'xb'), regexp_match('a#b', 'a\# b', 'xb'), regexp_match('a+', 'a +', 'xb'), regexp_match('aa', '(?xe) a +');
select regexp_match('aa', '(?xe)a{ 1 , 2 }');
select regexp_match('aa', '(?xe)a{1 }');
select regexp_match('aa', '(?x)a{1 }');
select regexp_match('aa', 'a\{1 \}', 'xb');
select regexp_match('aa', '(?xe)a{1}?');
select regexp_match('aa', '(?xe)a{1} ?');
select regexp_match('aa', '(?xe)a * ?');
select regexp_match('a{', '(?xe)a{ x');
