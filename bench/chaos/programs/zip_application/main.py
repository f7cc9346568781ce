# run: sh -c '{python} -m zipapp app -o app.pyz && {python} app.pyz one'
# ignore: app.pyz
