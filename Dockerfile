# docker build -t ident . && docker run --rm -v "$PWD":/work ident run /work/experiment
FROM python:3.12-slim
COPY . /source
RUN pip install --no-cache-dir -c /source/constraints.txt "/source[all]" && rm -rf /source && useradd --create-home ident
USER ident
WORKDIR /work
ENTRYPOINT ["ident"]
CMD ["--help"]
