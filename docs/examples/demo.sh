# Starts a demo host for one example, which ends with the shell that started it: . docs/examples/demo.sh
# Afterwards $url is where it listens, $at are the flags of an operator's command about its tenant, and the token of Alice's
# assistant is in the environment, for commands and in $token for curl.
export PATH="$PWD/node_modules/.bin:$PATH"
data=.build/docs/demo
rm -rf $data
url=http://127.0.0.1:8784
at="--url $url --database $data/turnpike.db --tenant demo"
turnpike serve --demo --port 8784 --database $data/turnpike.db >/dev/null 2>&1 &
host=$!
trap 'kill $host; wait $host || true' EXIT
until [ -s $data/demo-tokens.json ] && curl -sf $url/ready >/dev/null; do sleep 0.2; done
token=$(node -p 'JSON.parse(fs.readFileSync(".build/docs/demo/demo-tokens.json")).assistant')
export TURNPIKE_TOKEN="$token"
