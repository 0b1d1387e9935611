-- A store as fsub wrote it at schema version 3: see earlier_test.go. Made once, and never changed.
PRAGMA page_size = 8192;
PRAGMA application_id = 1718842722;
CREATE TABLE schema_version (version BIGINT NOT NULL);
CREATE TABLE meta ( one INTEGER PRIMARY KEY CHECK (one = 1), next_job BIGINT NOT NULL, rev BIGINT NOT NULL, event_seq BIGINT NOT NULL, request_seq BIGINT NOT NULL );
CREATE TABLE jobs ( id INTEGER PRIMARY KEY, rev BIGINT NOT NULL, user_name TEXT NOT NULL, uid BIGINT NOT NULL, gid BIGINT NOT NULL, name TEXT NOT NULL, array_spec TEXT NOT NULL, state TEXT NOT NULL, live BOOLEAN NOT NULL, reason TEXT NOT NULL, priority BIGINT NOT NULL, held TEXT NOT NULL, cancel BOOLEAN NOT NULL, cancel_by BIGINT NOT NULL, submit_time BIGINT NOT NULL, start_time BIGINT NOT NULL, end_time BIGINT NOT NULL, attempt BIGINT NOT NULL, site TEXT NOT NULL, part TEXT NOT NULL, nodes TEXT NOT NULL, account TEXT NOT NULL, exit_status BIGINT NOT NULL, restarts BIGINT NOT NULL, cost REAL NOT NULL, submit_host TEXT NOT NULL, spec TEXT NOT NULL , part_of BIGINT NOT NULL DEFAULT 0, component BIGINT NOT NULL DEFAULT 0, array_part TEXT NOT NULL DEFAULT '', array_whole TEXT NOT NULL DEFAULT '');
CREATE TABLE payloads ( job_id INTEGER PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE, script BLOB NOT NULL, argv BLOB NOT NULL, environment BLOB NOT NULL );
CREATE TABLE attempts ( job_id BIGINT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, number BIGINT NOT NULL, attempt_key TEXT NOT NULL UNIQUE, site TEXT NOT NULL, part TEXT NOT NULL, state TEXT NOT NULL, live BOOLEAN NOT NULL, created BIGINT NOT NULL, acked BIGINT NOT NULL, started BIGINT NOT NULL, ended BIGINT NOT NULL, site_job_id BIGINT NOT NULL, site_submit BIGINT NOT NULL, tries BIGINT NOT NULL, restarts BIGINT NOT NULL, nodes TEXT NOT NULL, final_state TEXT NOT NULL, exit_status BIGINT NOT NULL, class TEXT NOT NULL, note TEXT NOT NULL, decision TEXT NOT NULL, cost REAL NOT NULL, PRIMARY KEY (job_id, number) ) WITHOUT ROWID;
CREATE TABLE tasks ( job_id BIGINT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, task_index BIGINT NOT NULL, site_job_id BIGINT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL, nodes TEXT NOT NULL, start_time BIGINT NOT NULL, end_time BIGINT NOT NULL, exit_status BIGINT NOT NULL, restarts BIGINT NOT NULL, cost REAL NOT NULL, PRIMARY KEY (job_id, task_index) ) WITHOUT ROWID;
CREATE TABLE events ( job_id BIGINT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, seq BIGINT NOT NULL, attempt BIGINT NOT NULL, at BIGINT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (job_id, seq) ) WITHOUT ROWID;
CREATE TABLE requests ( seq INTEGER PRIMARY KEY, job_id BIGINT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, tasks TEXT NOT NULL, kind TEXT NOT NULL, uid BIGINT NOT NULL, operator BOOLEAN NOT NULL, signal TEXT NOT NULL, at BIGINT NOT NULL , change TEXT NOT NULL DEFAULT 'null', restarts BIGINT NOT NULL DEFAULT 0);
CREATE TABLE sites ( name TEXT PRIMARY KEY, state TEXT NOT NULL, reason TEXT NOT NULL, set_by TEXT NOT NULL, at BIGINT NOT NULL );
INSERT INTO schema_version VALUES (1);
INSERT INTO schema_version VALUES (2);
INSERT INTO schema_version VALUES (3);
INSERT INTO meta VALUES (1, 30000008, 14, 3, 5);
INSERT INTO jobs VALUES (30000000, 2, 'alice', 2001, 2001, 'träin', '', 'FAILED', 0, 'NonZeroExitCode', 4000, '', 0, 0, 1772359200250000000, 1772359205250000000, 1772362805250000000, 2, 'beta', 'gpu', 'b[1-2]', 'physics', 1792, 2, 12.75, 'login1', '{"name":"träin","account":"physics","min_nodes":2,"max_nodes":2,"time_limit":5400000000000,"work_dir":"/home/alice"}', 0, 0, '', '');
INSERT INTO jobs VALUES (30000001, 4, 'bob', 2002, 2002, 'run', '', 'RUNNING', 1, '', 4000, '', 0, 0, 1772359200250000000, 1772359204250000000, 0, 1, 'alpha', 'gpu', 'a3', '', 0, 0, 0.0, 'login1', '{"name":"run","time_limit":3600000000000}', 0, 0, '', '');
INSERT INTO jobs VALUES (30000002, 6, 'alice', 2001, 2001, 'array', '0-3%2', 'RUNNING', 1, '', 4000, '', 0, 0, 1772359200250000000, 1772359204250000000, 0, 1, 'alpha', '', '', '', 0, 0, 0.5, 'login1', '{"name":"array","time_limit":3600000000000}', 0, 0, '', '{"Count":4,"Min":0,"Max":3,"Step":1,"Limit":2,"Spread":false}');
INSERT INTO jobs VALUES (30000003, 9, 'alice', 2001, 2001, 'spread', '0,2', 'PENDING', 1, '', 4000, '', 0, 0, 1772359200250000000, 0, 0, 0, '', '', '', '', 0, 0, 0.0, 'login1', '{"name":"spread","time_limit":3600000000000}', 0, 0, '', '{"Count":3,"Min":0,"Max":2,"Step":1,"Limit":0,"Spread":true}');
INSERT INTO jobs VALUES (30000004, 8, 'alice', 2001, 2001, 'spread', '', 'RUNNING', 1, '', 4000, '', 0, 0, 1772359200250000000, 1772359208250000000, 0, 1, 'gamma', '', '', '', 0, 0, 0.0, 'login1', '{"name":"spread","time_limit":3600000000000}', 30000003, 0, '{"Array":30000003,"Index":1,"Count":3,"Min":0,"Max":2,"Step":1,"Limit":0}', '');
INSERT INTO jobs VALUES (30000005, 12, 'bob', 2002, 2002, 'het', '', 'PENDING', 1, 'JobHeldAdmin', 4000, 'admin', 0, 0, 1772359200250000000, 0, 0, 0, '', '', '', '', 0, 0, 0.0, 'login1', '{"name":"het","comment":"changed","time_limit":3600000000000,"het":[{"name":"het","min_nodes":2,"time_limit":3600000000000}]}', 0, 0, '', '');
INSERT INTO jobs VALUES (30000006, 11, 'bob', 2002, 2002, 'het', '', 'PENDING', 1, '', 4000, '', 0, 0, 1772359200250000000, 0, 0, 0, '', '', '', '', 0, 0, 0.0, 'login1', '{"name":"het","min_nodes":2,"time_limit":3600000000000}', 30000005, 1, '', '');
INSERT INTO jobs VALUES (30000007, 14, '<text> 1003 ü''"
', 2147484652, 2147484653, '<text> 1007 ü''"
', '<text> 1014 ü''"
', 'PENDING', 1, '<text> 1145 ü''"
', 1146, '<text> 1147 ü''"
', 1, 2147484797, 1700001150000001150, 1700001151000001151, 1700001152000001152, 1153, '<text> 1154 ü''"
', '<text> 1155 ü''"
', '<text> 1156 ü''"
', '<text> 1157 ü''"
', 1158, 1159, 1160.1, '<text> 1182 ü''"
', '{"name":"\u003ctext\u003e 1007 ü''\"\n","account":"\u003ctext\u003e 1008 ü''\"\n","partition":"\u003ctext\u003e 1009 ü''\"\n","qos":"\u003ctext\u003e 1010 ü''\"\n","reservation":"\u003ctext\u003e 1011 ü''\"\n","comment":"\u003ctext\u003e 1012 ü''\"\n","constraint":"\u003ctext\u003e 1013 ü''\"\n","dependency":"\u003ctext\u003e 1015 ü''\"\n","min_nodes":1016,"max_nodes":1017,"ntasks":1018,"ntasks_per_node":1019,"cpus_per_task":1020,"mem_per_node":1021,"mem_per_cpu":1022,"mem_per_gpu":1023,"gres":"\u003ctext\u003e 1024 ü''\"\n","gpus":"\u003ctext\u003e 1025 ü''\"\n","gpus_per_node":"\u003ctext\u003e 1026 ü''\"\n","gpus_per_task":"\u003ctext\u003e 1027 ü''\"\n","nodelist":"\u003ctext\u003e 1028 ü''\"\n","exclude":"\u003ctext\u003e 1029 ü''\"\n","exclusive":"\u003ctext\u003e 1030 ü''\"\n","switches":1031,"switches_wait":1032,"time_limit":1033,"time_min":1034,"begin":"2023-11-14T22:30:35.000001035Z","deadline":"2023-11-14T22:30:36.000001036Z","hold":true,"nice":1038,"requeue":true,"mail_type":"\u003ctext\u003e 1041 ü''\"\n","mail_user":"\u003ctext\u003e 1042 ü''\"\n","work_dir":"\u003ctext\u003e 1043 ü''\"\n","input":"\u003ctext\u003e 1044 ü''\"\n","output":"\u003ctext\u003e 1045 ü''\"\n","error":"\u003ctext\u003e 1046 ü''\"\n","open_mode":"\u003ctext\u003e 1047 ü''\"\n","signal":{"name":"\u003ctext\u003e 1050 ü''\"\n","before":1051,"batch_only":true,"reservation":true},"more":{"hint":"\u003ctext\u003e 1056 ü''\"\n","sockets_per_node":1057,"cores_per_socket":1058,"threads_per_core":1059,"ntasks_per_core":1060,"ntasks_per_socket":1061,"ntasks_per_gpu":1062,"ntasks_per_tres":1063,"cpus_per_gpu":1064,"mincpus":1065,"core_spec":1066,"thread_spec":1067,"tmp":1068,"segment":1069,"node_sizes":"\u003ctext\u003e 1070 ü''\"\n","distribution":"\u003ctext\u003e 1071 ü''\"\n","overcommit":true,"contiguous":true,"spread_job":true,"use_min_nodes":true,"tres_per_task":"\u003ctext\u003e 1076 ü''\"\n","gpus_per_socket":"\u003ctext\u003e 1077 ü''\"\n","gpu_bind":"\u003ctext\u003e 1078 ü''\"\n","gpu_freq":"\u003ctext\u003e 1079 ü''\"\n","tres_bind":"\u003ctext\u003e 1080 ü''\"\n","gres_flags":"\u003ctext\u003e 1081 ü''\"\n","licenses":"\u003ctext\u003e 1082 ü''\"\n","prefer":"\u003ctext\u003e 1083 ü''\"\n","batch":"\u003ctext\u003e 1084 ü''\"\n","burst_buffer":"\u003ctext\u003e 1085 ü''\"\n","network":"\u003ctext\u003e 1086 ü''\"\n","no_kill":true,"kill_on_invalid_dep":"\u003ctext\u003e 1088 ü''\"\n","wait_all_nodes":"\u003ctext\u003e 1089 ü''\"\n","oom_kill_step":"\u003ctext\u003e 1090 ü''\"\n","stepmgr":true,"priority":"\u003ctext\u003e 1092 ü''\"\n","delay_boot":1093,"wckey":"\u003ctext\u003e 1094 ü''\"\n","extra":"\u003ctext\u003e 1095 ü''\"\n","mcs_label":"\u003ctext\u003e 1096 ü''\"\n","context":"\u003ctext\u003e 1097 ü''\"\n","profile":"\u003ctext\u003e 1098 ü''\"\n","acctg_freq":"\u003ctext\u003e 1099 ü''\"\n","container":"\u003ctext\u003e 1100 ü''\"\n","container_id":"\u003ctext\u003e 1101 ü''\"\n","cpu_freq":"\u003ctext\u003e 1102 ü''\"\n","mem_bind":"\u003ctext\u003e 1103 ü''\"\n","reboot":true,"resv_ports":"\u003ctext\u003e 1105 ü''\"\n","cluster_constraint":"\u003ctext\u003e 1106 ü''\"\n","no_core_spec":true},"clusters":"\u003ctext\u003e 1108 ü''\"\n","fed":{"sites":["\u003ctext\u003e 1112 ü''\"\n","\u003ctext\u003e 1113 ü''\"\n"],"not_sites":["\u003ctext\u003e 1115 ü''\"\n","\u003ctext\u003e 1116 ü''\"\n"],"accelerators":["\u003ctext\u003e 1118 ü''\"\n","\u003ctext\u003e 1119 ü''\"\n"],"max_cost":1120.1,"stage_in":[{"from":"\u003ctext\u003e 1123 ü''\"\n","to":"\u003ctext\u003e 1124 ü''\"\n"},{"from":"\u003ctext\u003e 1126 ü''\"\n","to":"\u003ctext\u003e 1127 ü''\"\n"}],"stage_out":[{"from":"\u003ctext\u003e 1130 ü''\"\n","to":"\u003ctext\u003e 1131 ü''\"\n"},{"from":"\u003ctext\u003e 1133 ü''\"\n","to":"\u003ctext\u003e 1134 ü''\"\n"}]},"plugin":[{"name":"\u003ctext\u003e 1137 ü''\"\n","value":"\u003ctext\u003e 1138 ü''\"\n"},{"name":"\u003ctext\u003e 1140 ü''\"\n","value":"\u003ctext\u003e 1141 ü''\"\n"}],"command":"\u003ctext\u003e 1143 ü''\"\n"}', 0, 0, '', '{"Count":1176,"Min":1177,"Max":1178,"Step":1179,"Limit":1180,"Spread":true}');
INSERT INTO payloads VALUES (30000000, CAST('#!/bin/bash
#SBATCH -J träin
echo "it''s" $1
' AS BLOB), x'6f6e650074776f20776f72647300', x'484f4d453d2f686f6d652f616c69636500454d5054593d00');
INSERT INTO payloads VALUES (30000001, CAST('#!/bin/bash
#SBATCH -J träin
echo "it''s" $1
' AS BLOB), x'6f6e650074776f20776f72647300', x'484f4d453d2f686f6d652f616c69636500454d5054593d00');
INSERT INTO payloads VALUES (30000002, CAST('#!/bin/bash
#SBATCH -J träin
echo "it''s" $1
' AS BLOB), x'6f6e650074776f20776f72647300', x'484f4d453d2f686f6d652f616c69636500454d5054593d00');
INSERT INTO payloads VALUES (30000003, CAST('#!/bin/bash
#SBATCH -J träin
echo "it''s" $1
' AS BLOB), x'6f6e650074776f20776f72647300', x'484f4d453d2f686f6d652f616c69636500454d5054593d00');
INSERT INTO payloads VALUES (30000005, CAST('#!/bin/bash
#SBATCH -J träin
echo "it''s" $1
' AS BLOB), x'6f6e650074776f20776f72647300', x'484f4d453d2f686f6d652f616c69636500454d5054593d00');
INSERT INTO payloads VALUES (30000007, CAST('<text> 5002 ü''"
' AS BLOB), x'3c746578743e203530303420c3bc27220a003c746578743e203530303520c3bc27220a00', x'3c746578743e203530303720c3bc27220a003c746578743e203530303820c3bc27220a00');
INSERT INTO attempts VALUES (30000000, 1, 'fsub:test:30000000.1.hg8ykqvc0g', 'alpha', 'gpu', 'FORGOTTEN', 0, 1772359201250000000, 1772359202250000000, 0, 0, 30000000, 0, 1, 0, '', '', 0, 'site', 'its controller lost the job', '{"job":30000000,"bind":true,"offers":[{"site":"alpha","partition":"gpu","pool":"gpu/a100","start":"2026-03-01T10:00:05.25Z","wait":0,"run":3600000000000,"nodes":2,"gpus":8,"terms":null,"total":0}]}', 0.0);
INSERT INTO attempts VALUES (30000000, 2, 'fsub:test:30000000.2.hg8ykqvc0g', 'beta', 'gpu', 'ENDED', 0, 1772359201250000000, 1772359203250000000, 1772359205250000000, 1772362805250000000, 4711, 1772359204250000000, 2, 1, 'b[1-2]', 'FAILED', 1792, 'user', '', '{"job":30000000,"bind":true,"offers":[{"site":"alpha","partition":"gpu","pool":"gpu/a100","start":"2026-03-01T10:00:05.25Z","wait":0,"run":3600000000000,"nodes":2,"gpus":8,"terms":null,"total":0}]}', 12.75);
INSERT INTO attempts VALUES (30000001, 1, 'fsub:test:30000001.1.hg8ykqvc0g', 'alpha', 'gpu', 'STARTED', 1, 1772359201250000000, 1772359202250000000, 1772359204250000000, 0, 30000001, 0, 1, 0, 'a3', '', 0, '', '', '{"job":30000001,"bind":true,"offers":[{"site":"alpha","partition":"gpu","pool":"gpu/a100","start":"2026-03-01T10:00:05.25Z","wait":0,"run":3600000000000,"nodes":2,"gpus":8,"terms":null,"total":0}]}', 0.0);
INSERT INTO attempts VALUES (30000002, 1, 'fsub:test:30000002.1.hg8ykqvc0g', 'alpha', 'gpu', 'STARTED', 1, 1772359201250000000, 1772359202250000000, 0, 0, 30000002, 0, 1, 0, '', '', 0, '', '', '{"job":30000002,"bind":true,"offers":[{"site":"alpha","partition":"gpu","pool":"gpu/a100","start":"2026-03-01T10:00:05.25Z","wait":0,"run":3600000000000,"nodes":2,"gpus":8,"terms":null,"total":0}]}', 0.0);
INSERT INTO attempts VALUES (30000004, 1, 'fsub:test:30000004.1.hg8ykqvc0g', 'alpha', 'gpu', 'STARTED', 1, 1772359201250000000, 0, 0, 0, 0, 0, 1, 0, '', '', 0, '', '', '{"job":30000004,"bind":true,"offers":[{"site":"alpha","partition":"gpu","pool":"gpu/a100","start":"2026-03-01T10:00:05.25Z","wait":0,"run":3600000000000,"nodes":2,"gpus":8,"terms":null,"total":0}]}', 0.0);
INSERT INTO attempts VALUES (30000007, 1, '<text> 2004 ü''"
', '<text> 2005 ü''"
', '<text> 2006 ü''"
', '<text> 2007 ü''"
', 1, 1700002008000002008, 1700002009000002009, 1700002010000002010, 1700002011000002011, 2147485660, 1700002013000002013, 2014, 2015, '<text> 2016 ü''"
', '<text> 2017 ü''"
', 2018, '<text> 2019 ü''"
', '<text> 2020 ü''"
', '{"job":2147485670,"bind":true,"spread":true,"reason":"\u003ctext\u003e 2025 ü''\"\n","offers":[{"site":"\u003ctext\u003e 2028 ü''\"\n","partition":"\u003ctext\u003e 2029 ü''\"\n","pool":"\u003ctext\u003e 2030 ü''\"\n","start":"2023-11-14T22:47:11.000002031Z","wait":2032,"run":2033,"nodes":2034,"gpus":2035,"gpu_type":"\u003ctext\u003e 2036 ü''\"\n","as":"\u003ctext\u003e 2037 ü''\"\n","terms":[{"name":"\u003ctext\u003e 2040 ü''\"\n","amount":2041.1,"detail":"\u003ctext\u003e 2042 ü''\"\n"},{"name":"\u003ctext\u003e 2044 ü''\"\n","amount":2045.1,"detail":"\u003ctext\u003e 2046 ü''\"\n"}],"total":2047.1},{"site":"\u003ctext\u003e 2050 ü''\"\n","partition":"\u003ctext\u003e 2051 ü''\"\n","pool":"\u003ctext\u003e 2052 ü''\"\n","start":"2023-11-14T22:47:33.000002053Z","wait":2054,"run":2055,"nodes":2056,"gpus":2057,"gpu_type":"\u003ctext\u003e 2058 ü''\"\n","as":"\u003ctext\u003e 2059 ü''\"\n","terms":[{"name":"\u003ctext\u003e 2062 ü''\"\n","amount":2063.1,"detail":"\u003ctext\u003e 2064 ü''\"\n"},{"name":"\u003ctext\u003e 2066 ü''\"\n","amount":2067.1,"detail":"\u003ctext\u003e 2068 ü''\"\n"}],"total":2069.1}],"rejections":[{"site":"\u003ctext\u003e 2073 ü''\"\n","partition":"\u003ctext\u003e 2074 ü''\"\n","pool":"\u003ctext\u003e 2075 ü''\"\n","reason":"\u003ctext\u003e 2076 ü''\"\n","detail":"\u003ctext\u003e 2077 ü''\"\n","never":true},{"site":"\u003ctext\u003e 2080 ü''\"\n","partition":"\u003ctext\u003e 2081 ü''\"\n","pool":"\u003ctext\u003e 2082 ü''\"\n","reason":"\u003ctext\u003e 2083 ü''\"\n","detail":"\u003ctext\u003e 2084 ü''\"\n","never":true}]}', 2086.1);
INSERT INTO tasks VALUES (30000002, 0, 67108865, 'COMPLETED', '', 'a1', 1772359204250000000, 1772359260250000000, 0, 0, 0.5);
INSERT INTO tasks VALUES (30000002, 1, 67108866, 'RUNNING', '', 'a2', 1772359261250000000, 0, 0, 1, 0.0);
INSERT INTO tasks VALUES (30000007, 0, 2147493652, '<text> 10005 ü''"
', '<text> 10006 ü''"
', '<text> 10007 ü''"
', 1700010008000010008, 1700010009000010009, 10010, 10011, 10012.1);
INSERT INTO events VALUES (30000000, 1, 1, 1772359203250000000, 'alpha lost it');
INSERT INTO events VALUES (30000000, 2, 0, 1772362805250000000, 'ended: exit code 7');
INSERT INTO events VALUES (30000007, 3, 20003, 1700020004000020004, '<text> 20005 ü''"
');
INSERT INTO requests VALUES (1, 30000001, 'null', 'signal', 2002, 0, '{"name":"USR1","batch":true}', 1772359209250000000, 'null', 0);
INSERT INTO requests VALUES (2, 30000001, 'null', 'requeue', 0, 1, '{"name":""}', 1772359210250000000, 'null', 3);
INSERT INTO requests VALUES (3, 30000002, '[1,3]', 'cancel', 2001, 0, '{"name":""}', 1772359270250000000, 'null', 0);
INSERT INTO requests VALUES (4, 30000005, 'null', 'update', 2002, 0, '{"name":""}', 1772359280250000000, '[{"key":"TimeLimit","option":"time","value":"30"}]', 0);
INSERT INTO requests VALUES (5, 30000007, '[30005,30006]', '<text> 30007 ü''"
', 2147513656, 1, '{"name":"\u003ctext\u003e 30011 ü''\"\n","batch":true,"full":true}', 1700030024000030024, '[{"key":"\u003ctext\u003e 30016 ü''\"\n","option":"\u003ctext\u003e 30017 ü''\"\n","value":"\u003ctext\u003e 30018 ü''\"\n"},{"key":"\u003ctext\u003e 30020 ü''\"\n","option":"\u003ctext\u003e 30021 ü''\"\n","value":"\u003ctext\u003e 30022 ü''\"\n"}]', 30023);
INSERT INTO sites VALUES ('beta', 'DRAIN', 'new switches', 'root', 1772359300250000000);
CREATE INDEX jobs_rev ON jobs (rev);
CREATE INDEX jobs_live ON jobs (id) WHERE live;
CREATE INDEX jobs_ended ON jobs (end_time) WHERE NOT live;
CREATE UNIQUE INDEX attempts_live ON attempts (job_id) WHERE live;
CREATE INDEX requests_job ON requests (job_id);
CREATE INDEX jobs_part_of ON jobs (part_of) WHERE part_of <> 0;
